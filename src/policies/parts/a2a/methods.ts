/** The protocol binding of a request; over gRPC the messages of the two versions differ. */
export type Binding = 'http' | 'jsonrpc' | 'grpc' | 'grpc 0.3'

/** The operation that a request invokes on an agent. */
export interface A2aCall {
  /** In terms of the client's protocol. */
  readonly method: string
  readonly binding: Binding
  /** Whether the response is or contains a card. */
  readonly card: boolean
}

const CARDS = /\/\.well-known\/agent(-card)?\.json$/
/** Methods that return a card: JSON-RPC 0.3, gRPC 0.3, and 1.0. */
const CARD_METHODS: ReadonlySet<string> = new Set([
  'agent/getAuthenticatedExtendedCard',
  'GetAgentCard',
  'GetExtendedAgentCard',
])

/** From a request's method and target; undefined: it may be JSON-RPC, or no call at all. */
export function callTo(verb: string, target: string): A2aCall | undefined {
  const path = target.split('?', 1)[0] as string
  const grpc = /^\/(lf\.)?a2a\.v\d+\.A2AService\/(\w+)$/.exec(path)
  if (grpc) return named(grpc[2], grpc[1] === undefined ? 'grpc 0.3' : 'grpc')
  // HEAD is answered like GET.
  const asked = verb === 'HEAD' ? 'GET' : verb
  return named(asked === 'GET' && CARDS.test(path) ? 'GetAgentCard' : restMethod(asked, path), 'http')
}

/** From the beginning of a JSON body. */
export function callIn(body: string): A2aCall | undefined {
  return named(methodIn(body), 'jsonrpc')
}

function named(method: string | undefined, binding: Binding): A2aCall | undefined {
  return method === undefined ? undefined : { method, binding, card: CARD_METHODS.has(method) }
}

const VERBS: Readonly<Record<string, string>> = {
  'message:send': 'SendMessage',
  'message:stream': 'SendStreamingMessage',
}

/** HTTP+JSON: a tenant, and any path, may precede it (A2A 1.0 section 11.3). */
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
  if (last === 'authenticatedExtendedCard' && before === 'agent') return 'GetExtendedAgentCard'
  if (last.endsWith(':subscribe') && before === 'tasks') return 'SubscribeToTask'
  if (before === 'tasks') return 'GetTask'
  return last === 'tasks' ? 'ListTasks' : undefined
}

/** `method` of a possibly truncated JSON-RPC request. */
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

const MAX_METHOD = 128

function textIn(string: string): string | undefined {
  try {
    return (JSON.parse(`"${string}"`) as string).slice(0, MAX_METHOD)
  } catch {
    return undefined
  }
}
