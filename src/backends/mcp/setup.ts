import type { Naming } from '../../mcp/lists.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { SignInPages } from './sign-in/pages.ts'
import type { TargetMetadata } from './sign-in/target-metadata.ts'
import type { McpTarget } from './targets.ts'
import type { ToolGuard } from './tool-lock/tool-guard.ts'

/** A compiled MCP backend, with every option resolved. */
export interface McpSetup {
  readonly runtime: Runtime
  /** The backend's name in its session ids. */
  readonly backend: string
  readonly targets: readonly McpTarget[]
  /** Where users sign in at targets, each for their own calls. */
  readonly signIns: readonly SignInPages[]
  /** For a single target over HTTP, which may authenticate clients itself. */
  readonly metadata: TargetMetadata | undefined
  /** Several targets: their names, ids and URIs must be distinguished. */
  readonly multiple: boolean
  readonly naming: Naming
  /** There are several targets and names carry no prefix, so the target of a name is looked up. */
  readonly lookUp: boolean
  /** Restricts tools to their reviewed versions. */
  readonly toolGuard: ToolGuard | undefined
  readonly stateful: boolean
  readonly failOpen: boolean
  readonly localOnly: boolean
  /** Bytes; a larger request gets 413. */
  readonly maxBody: number
  readonly sessionKey: Buffer | undefined
  /** ms. */
  readonly sessionTtl: number
}
