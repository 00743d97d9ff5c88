import { isAllowed } from '../../../mcp/authorization.ts'
import { parseExact } from '../../../mcp/exact-json.ts'
import { LIST_METHODS, listItems } from '../../../mcp/lists.ts'
import { isObject, type JsonObject, type Request, readMessage } from '../../../mcp/message.ts'
import type { Answer } from '../answer.ts'
import type { Conversation } from '../conversation.ts'
import { type FanOutFailure, fanOut, resultOf } from '../fan-out.ts'
import type { McpSetup } from '../setup.ts'
import { standInFor } from '../sign-in/answers.ts'
import type { Link } from '../targets.ts'

/** A target that never stops returning cursors is cut off. */
const MAX_PAGES = 64

export interface Inventory {
  /** Items that exactly one target offers and the client may see, in target order. */
  readonly items: readonly JsonObject[]
  /** As returned by the targets. */
  readonly pages: readonly JsonObject[]
  readonly failed?: FanOutFailure
}

export type ListName = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list'

/**
 * Reads every page of a list from every target, for names without a target prefix: a name that two targets offer is
 * ambiguous and left out. Also records the target of each name.
 */
export function takeInventory(
  setup: McpSetup,
  conversation: Conversation,
  method: ListName,
  answer: Answer,
  done: (inventory: Inventory) => void,
): void {
  const read = (pages: ReadonlyMap<Link, readonly JsonObject[]>, failed?: FanOutFailure): void => {
    if (failed) done({ items: [], pages: [], failed })
    else done({ items: merge(setup, conversation, method, pages, answer), pages: [...pages.values()].flat() })
  }
  pagesOf(method, conversation, conversation.targets.links, answer, !setup.failOpen, read, MAX_PAGES, true)
}

/** Every page of a list, as returned by the targets. */
export function pagesOf(
  method: ListName,
  conversation: Conversation,
  of: readonly Link[],
  answer: Answer,
  failClosed: boolean,
  done: (pages: ReadonlyMap<Link, readonly JsonObject[]>, failed?: FanOutFailure) => void,
  most = MAX_PAGES,
  standIns = false,
): void {
  const pages = new Map<Link, JsonObject[]>(of.map(link => [link, []]))
  const round = (links: readonly Link[], cursors: ReadonlyMap<Link, string>, number: number): void => {
    const id = conversation.calls.ownId()
    fanOut(
      {
        conversation,
        links,
        answer,
        failClosed,
        greets: false,
        request: link => conversation.era.ownRequest(pageRequest(method, id, cursors.get(link))),
        message() {},
        ...(standIns ? { standIn: ({ name }: Link) => standInFor(method, name) } : {}),
      },
      (reached, failed) => {
        if (failed && (number === 1 || failClosed)) return done(pages, failed)
        const next = new Map<Link, string>()
        for (const { link, response } of reached) {
          const exact = parseExact(response.bytes.toString()) as JsonObject
          const result = isObject(exact.result) ? exact.result : resultOf(response)
          pages.get(link)?.push(result)
          if (typeof result.nextCursor === 'string') next.set(link, result.nextCursor)
        }
        if (next.size > 0 && number < most) round([...next.keys()], next, number + 1)
        else done(pages)
      },
    )
  }
  round(of, new Map(), 1)
}

function merge(
  setup: McpSetup,
  conversation: Conversation,
  method: ListName,
  pages: ReadonlyMap<Link, readonly JsonObject[]>,
  answer: Answer,
): JsonObject[] {
  const list = LIST_METHODS[method]
  if (!list) return []
  const owners = new Map<string, Link | 'ambiguous'>()
  for (const [link, results] of pages) {
    for (const result of results) {
      for (const { name } of listItems(list, { target: link.name, result }, setup.naming, () => true)) {
        const owner = owners.get(name as string)
        owners.set(name as string, owner === undefined || owner === link ? link : 'ambiguous')
      }
    }
  }
  conversation.targets.inventory.set(method, owners)
  const items: JsonObject[] = []
  for (const [link, results] of pages) {
    for (const result of results) {
      const page = { target: link.name, result }
      const visible = listItems(list, page, setup.naming, item => isAllowed(answer.x, item), setup.toolGuard)
      for (const item of visible) if (owners.get(item.name as string) === link) items.push(item)
    }
  }
  return items
}

function pageRequest(method: ListName, id: string, cursor: string | undefined): Request {
  const text = JSON.stringify({
    jsonrpc: '2.0',
    id,
    method,
    ...(cursor === undefined ? {} : { params: { cursor } }),
  })
  return readMessage(Buffer.from(text)) as Request
}
