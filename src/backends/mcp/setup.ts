import type { Naming } from '../../mcp/lists.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { TargetMetadata } from './target-metadata.ts'
import type { McpTarget } from './targets.ts'
import type { ToolGuard } from './tool-lock/tool-guard.ts'

/** A compiled MCP backend: every option resolved. */
export interface McpSetup {
  readonly runtime: Runtime
  /** Names the backend in its session ids. */
  readonly backend: string
  readonly targets: readonly McpTarget[]
  /** Of a single target over HTTP, which may ask clients for tokens itself. */
  readonly metadata: TargetMetadata | undefined
  /** Several targets: their names, ids and URIs need telling apart. */
  readonly multiple: boolean
  readonly naming: Naming
  /** Names carry no target although there are several: who serves a name is looked up. */
  readonly lookUp: boolean
  /** Holds tools to what was reviewed. */
  readonly toolGuard: ToolGuard | undefined
  readonly stateful: boolean
  readonly failOpen: boolean
  readonly localOnly: boolean
  /** bytes; a larger request is refused with 413. */
  readonly maxBody: number
  readonly sessionKey: Buffer | undefined
  /** ms. */
  readonly sessionTtl: number
}
