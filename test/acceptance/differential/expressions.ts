import type { Case, CaseRequest } from './cases.ts'
import { send } from './client.ts'
import { type Answer, type Recording, Refused, type Start, type System } from './system.ts'

const PORT = 8080

/** What each expression sees. */
const REQUEST: Omit<CaseRequest, 'name'> = {
  method: 'POST',
  path: '/some/path?q=1%202&r=3&q=4',
  headers: [
    'host: gateway.test:81',
    'x-one: 1',
    'x-two: a',
    'x-two: b',
    'x-list: a, b',
    'cookie: a=1; b=2',
    'authorization: Bearer t',
  ],
  body: '{"a":1}',
}

/** An expression that fails gives no answer, be it refused when the file is read or only once it runs. */
const FAILED: Answer = { status: 500, headers: [], body: '<fails>' }

/** The values of expressions, as the bodies of direct responses. */
export async function playExpressions(all: readonly string[], start: Start): Promise<Recording> {
  const together = await evaluate(all, start)
  if (together) return { replies: together }
  const replies: Record<string, Answer> = {}
  for (const one of all) Object.assign(replies, (await evaluate([one], start)) ?? { [one]: FAILED })
  return { replies }
}

/** undefined: the file is refused. */
async function evaluate(expressions: readonly string[], start: Start): Promise<Record<string, Answer> | undefined> {
  let started: System
  try {
    started = await start(configuration(expressions), {})
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
  await using system = started
  const replies: Record<string, Answer> = {}
  for (const [i, name] of expressions.entries()) {
    const request = { ...REQUEST, name, headers: [...(REQUEST.headers ?? []), `x-case: ${i}`] }
    const [reply] = await send(request, system.portOf(PORT))
    replies[name] =
      reply?.status === 200
        ? { status: 200, headers: [], body: reply.body.replace(/^bind\/\d+$/, 'bind/8080') }
        : FAILED
  }
  return replies
}

function configuration(expressions: readonly string[]): Case['config'] {
  const routes = expressions.map((bodyExpression, i) => ({
    name: `route${i}`,
    matches: [{ path: { pathPrefix: '/' }, headers: [{ name: 'x-case', value: { exact: String(i) } }] }],
    policies: { directResponse: { status: 200, bodyExpression } },
  }))
  return { binds: [{ port: PORT, listeners: [{ name: 'named', routes }] }] }
}
