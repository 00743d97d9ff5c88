type Json = Readonly<Record<string, unknown>>

/**
 * Converts events of the public system (agentgateway) to ours: it numbers neither events nor requests, and one stream
 * is one request. The result is decoded like any event. Undefined for anything but an event of that system.
 */
export function publicEventTranslator(): (value: unknown) => Json | undefined {
  let seq = 0
  let request = 0
  return value => {
    if (!isRecord(value) || 'seq' in value || typeof value.eventEnd !== 'number' || !isRecord(value.message)) {
      return undefined
    }
    seq++
    if (value.message.type === 'requestStarted') request++
    return {
      seq,
      at: value.eventEnd,
      ...(typeof value.eventStart === 'number' ? { from: value.eventStart } : {}),
      severity: value.severity,
      request: String(request),
      worker: 0,
      scope: value.scope ?? [],
      origins: [],
      message: messageOf(value.message),
    }
  }
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Messages without a counterpart or of unexpected structure are left unchanged. */
function messageOf(m: Json): Json {
  switch (m.type) {
    case 'requestSnapshot':
    case 'responseSnapshot':
      return { type: 'snapshot', stage: m.stage, state: headOf(isRecord(m.requestState) ? m.requestState : {}) }
    case 'bodySnapshot':
      return { type: 'body', stage: m.stage, bytes: bytesOf(m.body), base64: m.body, truncated: false }
    case 'cel':
      return isRecord(m.result) && 'error' in m.result
        ? { type: 'cel', expression: m.expr, error: String(m.result.error) }
        : { type: 'cel', expression: m.expr, result: m.result }
    case 'policySelection':
      return { type: 'policySelection', phase: m.phase, policies: setKeys(m.effectivePolicy) }
    case 'policy':
      return { type: 'policy', policy: m.kind, phase: 'request', ...resultOf(m.result) }
    case 'authorizationResult':
      return { type: 'authorization', result: m.result, rules: rulesOf(m.rules) }
    case 'routeSelection':
      return { type: 'route', selected: m.selectedRoute, tried: triedOf(m.evaluatedRoutes, m.selectedRoute) }
    case 'backendCallStart':
      return { type: 'callStart', target: m.target, purpose: 'the request' }
    case 'backendCallResult':
      return { type: 'callEnd', target: 'backend', ...presentOf({ status: m.status, error: m.error }) }
    case 'requestFinished':
      return { type: 'requestFinished', status: m.status ?? null, ...presentOf({ error: m.error }), bytes: 0 }
    default:
      return m
  }
}

function headOf({ request, response, jwt, apiKey, basicAuth }: Json): Json {
  if (isRecord(response)) return { status: response.code, headers: headersOf(response.headers) }
  if (isRecord(request)) {
    const caller = presentOf({ jwt, apiKey, basicAuth })
    return { method: request.method, url: request.uri, headers: headersOf(request.headers), ...caller }
  }
  return { headers: [] }
}

function headersOf(headers: unknown): unknown {
  const entries = Object.entries(isRecord(headers) ? headers : {})
  return entries.flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map(one => [name, String(one)]))
}

function resultOf(result: unknown): Json {
  if (!isRecord(result)) return {}
  const detail = result.reason ?? result.details
  return {
    result: result.type === 'apply' ? 'applied' : 'skipped',
    ...(detail === undefined || detail === null
      ? {}
      : { detail: typeof detail === 'string' ? detail : JSON.stringify(detail) }),
  }
}

function rulesOf(rules: unknown): unknown {
  return (Array.isArray(rules) ? rules : []).map(rule =>
    isRecord(rule) ? { rule: String(rule.name), mode: rule.mode, matched: rule.matched } : rule,
  )
}

function triedOf(evaluated: unknown, selected: unknown): unknown {
  const others = (Array.isArray(evaluated) ? evaluated : []).filter(route => route !== selected)
  return others.map(route => ({ route, failed: 'did not match' }))
}

function setKeys(policies: unknown): unknown {
  const entries = Object.entries(isRecord(policies) ? policies : {})
  return entries
    .filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))
    .map(([key]) => key)
}

function presentOf(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}

function bytesOf(base64: unknown): number {
  return typeof base64 === 'string' ? Buffer.byteLength(base64, 'base64') : 0
}
