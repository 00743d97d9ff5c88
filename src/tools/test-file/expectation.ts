import { didYouMean } from '../../diagnostics/suggest.ts'
import { GUARD_KINDS } from '../../policies/external/prompt-guard.ts'
import { json, map, type ObjectProblem, object, opt } from '../../schema/builder.ts'
import { parseFieldPath } from './field-path.ts'
import { isMatchers, isRecord, matcherProblems } from './matcher.ts'

/**
 * What a case can check. Nested fields are addressed by name: `header.x-served-by`,
 * `upstream.json.messages[0].content`. A value is a literal or matchers such as `{lt: 1}`.
 */
export const expectation = object(
  'expectation',
  {
    status: opt(json, 'Status of the response; with `repeat`, a list has one for each.'),
    header: opt(map(json), 'Header fields of the response, in lower case; those sent twice are joined by a comma.'),
    body: opt(json, 'Body of the response as text.'),
    json: opt(json, 'Body of the response as JSON. Of an object, only the members that are named are compared.'),
    route: opt(json, 'Key or name of the route.'),
    listener: opt(json, 'Key or name of the listener.'),
    backend: opt(json, 'Name of the backend that is chosen, or of its part or address that is called.'),
    reason: opt(json, 'Who decided the answer, as in the access log: `Upstream`, `RateLimit`, `Authorization` …'),
    error: opt(json, 'What went wrong, as in the access log.'),
    duration: opt(json, 'Milliseconds that it took on the clock of the test.'),
    policy: opt(map(json), 'What a policy did, by its name: `applied`, `skipped`, `replied` or `failed`.'),
    authorization: opt(json, '`allow` or `deny`.'),
    upstream: opt(
      json,
      'The last call to a backend: `method`, `url`, `path`, `host`, `header`, `body`, `json`, `status`, `backend`.',
    ),
    calls: opt(json, 'All calls to backends, as a list of the same.'),
    mcp: opt(json, 'An MCP answer: names of `tools`, `prompts`, `resources`; `result`, `error`, `text`, `isError`.'),
    a2a: opt(json, 'A call to an agent: its `method`, and the `task`, `state` and JSON-RPC `error` of its answer.'),
    llm: opt(
      json,
      'A model call: `provider`, `model`, `inputTokens`, `outputTokens`, `totalTokens`, `text`, and `losses`, the paths of what its format could not carry (`[]`: nothing).',
    ),
    guard: opt(
      json,
      'What guards did, by their kind (`regex`, `webhook` …; `remote` for `mcpGuardrails`): `Allow`, `Audit`, `FailOpen`, `Mask`, `Reject` or `Fail`, the last of these where one was asked several times.',
    ),
  },
  { open: true },
)

const NAMES = Object.keys(expectation.node.fields)
/** Fields with fixed members; the others contain whatever a message contains. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  upstream: ['method', 'url', 'path', 'host', 'header', 'body', 'json', 'status', 'backend'],
  mcp: ['tools', 'prompts', 'resources', 'result', 'error', 'text', 'isError'],
  a2a: ['method', 'task', 'state', 'error'],
  llm: ['provider', 'model', 'inputTokens', 'outputTokens', 'totalTokens', 'streaming', 'text', 'losses'],
  guard: [...GUARD_KINDS, 'remote'],
}
const WITH_MEMBERS: ReadonlySet<string> = new Set(['header', 'json', 'policy', 'calls', ...Object.keys(MEMBERS)])
/** Fields that may be lists themselves. */
const LISTS: ReadonlySet<string> = new Set(['json', 'calls', 'mcp', 'losses'])

/** The mistakes in the `expect` of a case or step. */
export function checkExpectations(holder: Record<string, unknown>): readonly ObjectProblem[] {
  const expected = (holder.expect ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(expected).flatMap(([field, value]) => {
    const wrong = fieldProblem(field) ?? repetitionProblem(field, value, holder.repeat as number)
    if (wrong) return [{ ...wrong, path: ['expect', field] }]
    const problems = valuesOf(field, value).flatMap(each => [...memberProblems(field, each), ...matcherProblems(each)])
    return problems.map(problem => ({ ...problem, path: ['expect', field, ...problem.path] }))
  })
}

/** The value for one repetition, counted from 0. */
export function expectedAt(field: string, value: unknown, repetition: number): unknown {
  return isPerRepetition(field, value) ? value[repetition] : value
}

function isPerRepetition(field: string, value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && !parseFieldPath(field)?.some(step => LISTS.has(String(step)))
}

function valuesOf(field: string, value: unknown): readonly unknown[] {
  return isPerRepetition(field, value) ? value : [value]
}

function fieldProblem(field: string): ObjectProblem | undefined {
  const path = parseFieldPath(field)
  if (path === undefined) {
    const help = 'write members like `json.choices[0].message` or `header["x.y"]`'
    return { message: `\`${field}\` is not the path of a field`, help, path: [], at: 'key' }
  }
  const [head, member] = path.map(String) as [string, string | undefined]
  if (!NAMES.includes(head)) return unknown(field, head, NAMES)
  if (member === undefined) return undefined
  if (!WITH_MEMBERS.has(head)) return { message: `\`${head}\` has no members`, path: [], at: 'key' }
  const at = HEADERS.get(head)
  const name = at !== undefined && path[at] === 'header' ? String(path[at + 1] ?? '') : ''
  return capitalProblem(field, name) ?? memberProblem(field, head, member)
}

/** Where `header` in a path is followed by a header name. */
const HEADERS: ReadonlyMap<string, number> = new Map([
  ['header', 0],
  ['upstream', 1],
  ['calls', 2],
])

function capitalProblem(field: string, name: string): ObjectProblem | undefined {
  if (name === name.toLowerCase()) return undefined
  const help = `write \`${field.replace(name, name.toLowerCase())}\``
  return { message: 'names of header fields are in lower case here', help, path: [], at: 'key' }
}

function memberProblem(field: string, head: string, member: string): ObjectProblem | undefined {
  const members = MEMBERS[head]
  return members === undefined || members.includes(member) ? undefined : unknown(field, member, members)
}

/** The same for nested notation: `upstream: {path: /}`. */
function memberProblems(field: string, value: unknown): ObjectProblem[] {
  if (!isRecord(value) || isMatchers(value)) return []
  return Object.keys(value).flatMap(name => {
    const problem =
      field === 'header' || field === 'upstream.header' ? capitalProblem(name, name) : memberProblem(name, field, name)
    return problem ? [{ ...problem, path: [name] }] : []
  })
}

function unknown(field: string, name: string, known: readonly string[]): ObjectProblem {
  const help = didYouMean(name, known) ?? `there are ${known.map(each => `\`${each}\``).join(', ')}`
  return { code: 'GW102', message: `there is no field to check named \`${field}\``, help, path: [], at: 'key' }
}

function repetitionProblem(field: string, value: unknown, repeat: number): ObjectProblem | undefined {
  if (!isPerRepetition(field, value) || value.length === repeat) return undefined
  const help = repeat === 1 ? 'for one of several values write `{any: [...]}`' : 'give each repetition its value'
  const message = `a list has one value for each repetition: ${value.length} for ${repeat}`
  return { code: 'GW109', message, help, path: [], at: 'value' }
}
