/** What a request asks of an agent. */
export interface A2aCall {
  /** In the words of the protocol that the client speaks; undefined: it says none. */
  readonly method: string | undefined
  /** What its reply is: a card, a JSON-RPC reply that holds one, or something else. */
  readonly card: 'whole' | 'result' | undefined
}

const CARDS = /\/\.well-known\/agent(-card)?\.json$/
/** JSON-RPC methods whose result is a card: of A2A 0.3, and of 1.0. */
const CARD_METHODS: ReadonlySet<string> = new Set(['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard'])

/** By line and body of a request; `body`: its beginning, where it is JSON. */
export function callOf(verb: string, target: string, body: string | undefined): A2aCall | undefined {
  const path = target.split('?', 1)[0] as string
  if (verb === 'GET' && CARDS.test(path)) return { method: 'GetAgentCard', card: 'whole' }
  const rpc = body === undefined ? undefined : methodIn(body)
  if (rpc !== undefined) return { method: rpc, card: CARD_METHODS.has(rpc) ? 'result' : undefined }
  const method = grpcMethod(path) ?? restMethod(verb, path)
  return method === undefined
    ? undefined
    : { method, card: verb === 'GET' && isExtendedCard(method) ? 'whole' : undefined }
}

function isExtendedCard(method: string): boolean {
  return method === 'GetExtendedAgentCard'
}

function grpcMethod(path: string): string | undefined {
  return /^\/(?:lf\.)?a2a\.v\d+\.A2AService\/(\w+)$/.exec(path)?.[1]
}

const VERBS: Readonly<Record<string, string>> = {
  'message:send': 'SendMessage',
  'message:stream': 'SendStreamingMessage',
}

/** HTTP+JSON: a tenant, and any path, may stand in front (A2A 1.0 section 11.3). */
function restMethod(verb: string, path: string): string | undefined {
  const segments = path.split('/')
  const last = segments.at(-1) ?? ''
  const before = segments.at(-2)
  if (verb === 'POST' && VERBS[last] !== undefined) return VERBS[last]
  if (before === 'tasks' && verb === 'POST') {
    if (last.endsWith(':cancel')) return 'CancelTask'
    if (last.endsWith(':subscribe')) return 'SubscribeToTask'
  }
  if (last === 'pushNotificationConfigs' && segments.at(-3) === 'tasks') {
    if (verb === 'POST') return 'CreateTaskPushNotificationConfig'
    if (verb === 'GET') return 'ListTaskPushNotificationConfigs'
  }
  if (before === 'pushNotificationConfigs' && segments.at(-4) === 'tasks') {
    if (verb === 'GET') return 'GetTaskPushNotificationConfig'
    if (verb === 'DELETE') return 'DeleteTaskPushNotificationConfig'
  }
  if (verb !== 'GET') return undefined
  if (last === 'extendedAgentCard' || (last === 'card' && before === 'v1')) return 'GetExtendedAgentCard'
  if (last.endsWith(':subscribe') && before === 'tasks') return 'SubscribeToTask'
  if (before === 'tasks') return 'GetTask'
  return last === 'tasks' ? 'ListTasks' : undefined
}

/** `method` of a JSON-RPC request of which only the beginning may be there. */
function methodIn(text: string): string | undefined {
  const token = /"((?:[^"\\]|\\.)*)"|[{}[\],:]/g
  let depth = 0
  let key: string | undefined
  let named = false
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [sign, string] = found
    if (string !== undefined) {
      if (depth !== 1) continue
      if (named && key === 'method') return textIn(string)
      if (!named) key = string
    } else if (sign === '{' || sign === '[') depth++
    else if (sign === '}' || sign === ']') depth--
    else if (depth === 1) named = sign === ':'
  }
  return undefined
}

const LONGEST_METHOD = 128

function textIn(string: string): string | undefined {
  try {
    return (JSON.parse(`"${string}"`) as string).slice(0, LONGEST_METHOD)
  } catch {
    return undefined
  }
}
