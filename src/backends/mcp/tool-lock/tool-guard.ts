import { unknownItem } from '../../../mcp/authorization.ts'
import { INVALID_PARAMS, INVALID_REQUEST, type RpcError } from '../../../mcp/errors.ts'
import { isObject, type JsonObject } from '../../../mcp/message.ts'
import { isAsLocked, type ToolLock } from '../../../mcp/tool-lock.ts'
import type { Logger, Runtime } from '../../../runtime/runtime.ts'
import type { Answer } from '../answer.ts'
import type { Conversation } from '../conversation.ts'
import { pagesOf } from '../lists/inventory.ts'
import { clientOf } from '../principal.ts'
import type { Link } from '../targets.ts'

/** ms for which a target's tools are cached. */
const FRESH = 60_000
/** Cached lists; servers may give each client its own. */
const MAX_SEEN = 1000
const MAX_TOLD = 1000

interface Seen {
  readonly until: number
  readonly changed: ReadonlySet<string>
}

/** Enforces the lock: a tool that changed since its review is refused, hidden or reported, as configured. */
export class ToolGuard {
  readonly #lock: ToolLock
  readonly #runtime: Runtime
  readonly #log: Logger
  readonly #seen = new Map<string, Seen>()
  /** Already reported changes, so that repeated lists do not report them again. */
  readonly #told = new Set<string>()

  constructor(lock: ToolLock, runtime: Runtime) {
    this.#lock = lock
    this.#runtime = runtime
    this.#log = runtime.log.child('mcp::lock')
  }

  /** The tool as clients see it: current, as reviewed, or not at all. */
  shown(target: string, tool: JsonObject): JsonObject | undefined {
    const name = String(tool.name)
    const locked = this.#lock.targets.get(target)?.get(name)
    if (locked && isAsLocked(locked, tool)) return tool
    this.#tell(target, name, locked === undefined)
    if (this.#lock.onChange === 'report') return tool
    return this.#lock.onChange === 'refuse' && locked ? { ...locked, name } : undefined
  }

  /** Calls `then` with the reason if a call is refused; may list the target's tools first. */
  check(
    conversation: Conversation,
    link: Link,
    { name, given }: { readonly name: string; readonly given: string },
    answer: Answer,
    then: (refusal?: RpcError) => void,
  ): void {
    const { onChange, targets } = this.#lock
    if (onChange === 'report') return void then()
    const unknown = { code: INVALID_PARAMS, message: unknownItem('tool', given) }
    if (!targets.get(link.name)?.has(name)) return void then(unknown)
    const decide = ({ changed }: Seen): void => {
      if (!changed.has(name)) then()
      else if (onChange === 'hide') then(unknown)
      else then({ code: INVALID_REQUEST, message: `the tool \`${given}\` is not what was reviewed: it has changed` })
    }
    const key = `${link.name} ${clientOf(answer.x)}`
    const seen = this.#seen.get(key)
    if (seen && seen.until > this.#runtime.clock.mono()) return void decide(seen)
    pagesOf('tools/list', conversation, [link], answer, true, (pages, failed) => {
      if (answer.over) return
      // Tools that cannot be compared count as changed.
      if (failed) return then({ code: INVALID_REQUEST, message: `the tools of \`${link.name}\` cannot be listed` })
      decide(this.#note(key, link.name, pages.get(link) ?? []))
    })
  }

  /** The target announced that its tools changed. */
  forget(target: string): void {
    for (const key of [...this.#seen.keys()]) if (key.startsWith(`${target} `)) this.#seen.delete(key)
  }

  #note(key: string, target: string, pages: readonly JsonObject[]): Seen {
    const tools = pages.flatMap(({ tools: listed }) => (Array.isArray(listed) ? (listed as unknown[]) : []))
    const now = new Map(tools.filter(isObject).map(tool => [String(tool.name), tool]))
    const changed = new Set<string>()
    for (const [name, locked] of this.#lock.targets.get(target) ?? []) {
      const tool = now.get(name)
      if (tool && isAsLocked(locked, tool)) continue
      changed.add(name)
      if (tool) this.#tell(target, name, false)
    }
    const seen = { until: this.#runtime.clock.mono() + FRESH, changed }
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear()
    this.#seen.set(key, seen)
    return seen
  }

  #tell(target: string, tool: string, isNew: boolean): void {
    const key = `${target} ${tool}`
    if (this.#told.has(key) || this.#told.size >= MAX_TOLD) return
    this.#told.add(key)
    const what = isNew ? 'a tool is not in the tool lock' : 'a tool differs from the tool lock'
    this.#log.log('warn', what, { target, tool, action: this.#lock.onChange })
  }
}
