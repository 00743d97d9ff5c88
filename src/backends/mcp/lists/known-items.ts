import { INVALID_PARAMS } from '../../../mcp/errors.ts'
import { LIST_METHODS } from '../../../mcp/lists.ts'
import { isObject, type JsonObject, type Response, readMessage } from '../../../mcp/message.ts'
import type { NamedItem } from '../../../mcp/named-item.ts'
import type { Clock, Runtime } from '../../../runtime/runtime.ts'
import type { Answer } from '../answer.ts'
import type { TargetFailure } from '../connection.ts'
import type { Conversation } from '../conversation.ts'
import { clientOf } from '../principal.ts'
import type { Link } from '../targets.ts'
import { type ListName, pagesOf } from './inventory.ts'

/** ms for which a target's lists are cached. */
const FRESH = 60_000
/** Cached lists; servers may give each client its own. */
const MAX_SEEN = 1000
/** The code of servers with sessions for a missing resource. */
const RESOURCE_NOT_FOUND = -32002

interface Seen {
  readonly until: number
  readonly names: ReadonlySet<string>
}

/**
 * Where rules hide items, a hidden item must look like a nonexistent one: both are refused here, after the target was
 * asked for its list, so that neither the answer nor its timing distinguishes them.
 */
export class KnownItems {
  readonly #clock: Clock
  readonly #seen = new Map<string, Seen>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `then` with whether the item exists for this client, as far as its target lists such items. */
  check(
    conversation: Conversation,
    link: Link,
    { item, name, allowed }: { readonly item: NamedItem; readonly name: string; readonly allowed: boolean },
    answer: Answer,
    then: (usable: boolean) => void,
  ): void {
    const list = listOf(item, name)
    const complete = list !== 'resources/list'
    const key = `${link.name} ${list} ${clientOf(answer.x)}`
    const seen = this.#seen.get(key)
    if (allowed && (!complete || (seen && seen.until > this.#clock.mono() && seen.names.has(name)))) {
      then(true)
      return
    }
    // A refusal has a status of its own, however long the list takes.
    answer.hold()
    const decide = (pages: ReadonlyMap<Link, readonly JsonObject[]>): void => {
      answer.release(undefined)
      if (answer.over) return
      const names = complete ? namesIn(list, pages.get(link) ?? []) : undefined
      if (names) this.#note(key, names)
      then(allowed && (names === undefined || names.has(name)))
    }
    // For a resource one page is read, which takes about as long as asking for a nonexistent one.
    pagesOf(list, conversation, [link], answer, true, decide, complete ? undefined : 1)
  }

  /** The target announced that its items changed. */
  forget(target: string): void {
    for (const key of [...this.#seen.keys()]) if (key.startsWith(`${target} `)) this.#seen.delete(key)
  }

  #note(key: string, names: ReadonlySet<string>): void {
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear()
    this.#seen.set(key, { until: this.#clock.mono() + FRESH, names })
  }
}

/**
 * Stands for a hidden resource where some servers accept any: what the target says of one that it does not have is what
 * clients get.
 */
export function decoyOf(uri: string, { uuid }: Pick<Runtime, 'uuid'>): string {
  return `${uri}-${uuid()}`
}

/** Servers have resources that they do not list; their own error for a missing one is replaced by ours. */
export function reportsUnknown(said: Response | TargetFailure): boolean {
  const message = 'kind' in said ? said : said.http && readMessage(said.http.body)
  if (message?.kind !== 'response' || !isObject(message.value.error)) return false
  const { code } = message.value.error
  return code === INVALID_PARAMS || code === RESOURCE_NOT_FOUND
}

function listOf({ kind, at }: NamedItem, name: string): ListName {
  if (kind === 'tool') return 'tools/list'
  if (kind === 'prompt') return 'prompts/list'
  return at === 'params.ref.uri' && name.includes('{') ? 'resources/templates/list' : 'resources/list'
}

/** Undefined if the target does not list items of this kind. */
function namesIn(list: ListName, pages: readonly JsonObject[]): ReadonlySet<string> | undefined {
  const { key, name } = LIST_METHODS[list] as (typeof LIST_METHODS)[string]
  const lists = pages.map(page => page[key]).filter(Array.isArray) as unknown[][]
  if (lists.length === 0) return undefined
  return new Set(lists.flat().flatMap(item => (isObject(item) ? [String(item[name])] : [])))
}
