import { ownExchange } from '../../../calls/derived-exchange.ts'
import { isObject, type JsonObject, type Request, requestOf } from '../../../mcp/message.ts'
import { NOBODY } from '../../../mcp/request-meta.ts'
import { lockedPart, type Tools } from '../../../mcp/tool-lock.ts'
import type { Connection, TargetFailure } from '../connection.ts'
import { ERAS } from '../eras/index.ts'
import { syntheticGreeting } from '../eras/sessions/client-session.ts'
import type { McpSetup } from '../setup.ts'
import { type Link, Targets } from '../targets.ts'

const MAX_PAGES = 64

/** The current tools of every target. Rejects with an error that names the target which does not list them. */
export async function lockTools({
  targets,
  runtime,
}: Pick<McpSetup, 'targets' | 'runtime'>): Promise<ReadonlyMap<string, Tools>> {
  const { clock } = runtime
  const x = ownExchange({ clock })
  const [sessions] = ERAS
  const greeting = syntheticGreeting('', NOBODY)
  const all = new Targets(targets, {
    clock,
    failOpen: true,
    onDown() {},
    era: sessions,
    greetings: () => ERAS.map(era => era.greet(greeting)),
  })
  try {
    const found = new Map<string, Tools>()
    for (const link of all.links) {
      await settled(then => all.ready(link, x, then), link)
      found.set(link.name, await toolsOf(link))
    }
    return found
  } finally {
    await Promise.all(all.close())
  }

  async function toolsOf(link: Link): Promise<Tools> {
    const tools = new Map<string, JsonObject>()
    let cursor: unknown
    for (let page = 1; page <= MAX_PAGES; page++) {
      const request = requestOf(page, 'tools/list', cursor === undefined ? {} : { cursor })
      const result = await listed(link, link.era.ownRequest(request))
      for (const tool of Array.isArray(result.tools) ? (result.tools as unknown[]) : []) {
        if (isObject(tool)) tools.set(String(tool.name), lockedPart(tool))
      }
      cursor = result.nextCursor
      if (typeof cursor !== 'string') break
    }
    return new Map([...tools].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  function listed(link: Link, request: Request): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const fail = (message: string): void => reject(new Error(`the target \`${link.name}\`: ${message}`))
      const connection = link.connection as Connection
      connection.call(x, request, {
        flow: { full: false, onRoom: then => then() },
        message() {},
        reply: ({ value: { result, error } }) => {
          if (isObject(result)) resolve(result)
          else if (isObject(error) && error.code === -32601) resolve({})
          else fail('does not list its tools')
        },
        fail: ({ message }) => fail(message),
      })
    })
  }
}

function settled(begin: (then: (failure?: TargetFailure) => void) => void, { name }: Link): Promise<void> {
  return new Promise((resolve, reject) => {
    begin(failure => (failure ? reject(new Error(`the target \`${name}\`: ${failure.message}`)) : resolve()))
  })
}
