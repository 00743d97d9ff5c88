import { isUtf8 } from 'node:buffer'
import { type GrpcCall, grpcUnary } from '../../../calls/grpc.ts'
import type { Callee } from '../../../calls/outcall.ts'
import type { Expression } from '../../../cel/expression.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { type FieldChange, fieldChange, isChangeable } from '../../../http/field-change.ts'
import { isFieldName, toFieldValue } from '../../../http/field-value.ts'
import { APPEND_ACTION, type HeaderValueOption } from '../../../protobuf/envoy.ts'
import { CHECK, type CheckResponse, checkRequest, checkResponse } from '../../../protobuf/ext-authz.ts'
import { timestampOf } from '../../../protobuf/struct.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { evaluateAll } from '../evaluate-all.ts'
import { isUnanswered } from '../service-failure.ts'
import type { CheckBody } from './check-body.ts'
import type { Decision } from './decision.ts'
import { refusal } from './refusal.ts'
import { sentFields } from './sent-fields.ts'

export interface GrpcRules {
  readonly context: Readonly<Record<string, string>>
  /** Undefined: the claims verified by JWT authentication. */
  readonly metadata: Readonly<Record<string, Expression>> | undefined
  readonly includeRequestHeaders: readonly string[] | undefined
  /** Sends the body as bytes. */
  readonly packAsBytes: boolean
}

/** Maximum bytes of a response; denials are short. */
const MAX_REPLY = 1024 * 1024

/**
 * Calls the service over Envoy's protocol. Throws GatewayError `extAuthz` for an invalid response, anything else if
 * there is none.
 */
export async function grpcCheck(
  to: Callee,
  rules: GrpcRules,
  x: Exchange,
  body: CheckBody | undefined,
  timeout: number,
  runtime: Runtime,
): Promise<Decision> {
  const call: GrpcCall = {
    path: CHECK,
    scope: 'extAuthz',
    what: 'authorization',
    purpose: { kind: 'Policy', subtype: 'ExtAuthz' },
    timeout,
    limit: MAX_REPLY,
  }
  const { message } = await grpcUnary(
    to,
    call,
    checkRequest.encode(checkOf(x, rules, body, runtime)),
    runtime,
    x,
  ).catch((error: unknown) => {
    throw isUnanswered(error) ? error : new GatewayError('extAuthz', { cause: error })
  })
  return decisionIn(readAnswer(message))
}

function readAnswer(message: Buffer): CheckResponse {
  try {
    return checkResponse.decode(message)
  } catch (error) {
    throw new GatewayError('extAuthz', { cause: error })
  }
}

function checkOf(x: Exchange, rules: GrpcRules, body: CheckBody | undefined, { uuid }: Pick<Runtime, 'uuid'>) {
  const { connection, request, startedAt, httpVersion } = x
  const metadata = rules.metadata ? evaluateAll(rules.metadata, x, 'extAuthz') : verifiedClaims(x)
  const structs = Object.entries(metadata).filter((entry): entry is [string, Readonly<Record<string, never>>] =>
    isStruct(entry[1]),
  )
  const http = {
    // The gateway's own numbers start anew in every process; a service sees those of all of them.
    id: x.span?.traceId ?? `${x.id}-${uuid()}`,
    method: request.method,
    headers: headersOf(x, rules.includeRequestHeaders),
    path: request.path,
    host: request.authority,
    scheme: request.scheme,
    size: body && !body.partial ? body.bytes.length : (x.body.length ?? -1),
    protocol: httpVersion === '2.0' ? 'HTTP/2' : `HTTP/${httpVersion}`,
    ...(body && rules.packAsBytes ? { rawBody: body.bytes } : {}),
    ...(body && !rules.packAsBytes ? { body: body.bytes.toString('utf8') } : {}),
  }
  const principal = connection.tls?.identity
  return {
    attributes: {
      source: {
        address: { socketAddress: { address: connection.address, port: connection.port } },
        ...(principal === undefined ? {} : { principal }),
      },
      destination: {
        address: { socketAddress: { address: connection.localAddress ?? '', port: connection.localPort } },
      },
      request: { time: timestampOf(startedAt), http },
      contextExtensions: rules.context,
      metadataContext: { filterMetadata: Object.fromEntries(structs) },
    },
  }
}

/** Where Envoy's own JWT filter stores them. */
function verifiedClaims({ auth }: Exchange): Readonly<Record<string, unknown>> {
  return auth.jwt ? { 'envoy.filters.http.jwt_authn': { jwt_payload: auth.jwt } } : {}
}

function isStruct(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array) &&
    !(value instanceof Date)
  )
}

function headersOf({ request }: Exchange, only: readonly string[] | undefined): Record<string, string> {
  const out: Record<string, string> = Object.create(null)
  if (only === undefined) {
    out[':method'] = request.method
    out[':path'] = request.path
    out[':scheme'] = request.scheme
    out[':authority'] = request.authority
  }
  for (const [name, value] of sentFields(request.headers, only)) out[name] = wellFormed(value)
  return out
}

/** Header fields are bytes, here one per character; protobuf requires UTF-8, and a service rejects anything else. */
function wellFormed(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8')
}

function decisionIn({ status, denied, ok, dynamicMetadata }: CheckResponse): Decision {
  const metadata = dynamicMetadata ?? ok?.dynamicMetadata
  // A missing status means OK, as in Envoy.
  const allows = denied === undefined && (status?.code ?? 0) === 0
  if (!allows) {
    if (denied === undefined) throw new GatewayError('extAuthz')
    const headers = denied.headers.flatMap(option => {
      const change = changeOf(option, 'append')
      return change?.value === undefined ? [] : [change.name, change.value]
    })
    return { allowed: false, reply: refusal(denied.status?.code ?? 0, headers, denied.body), metadata }
  }
  return {
    allowed: true,
    changes: changesOf(ok?.headers, 'set'),
    pseudo: (ok?.headers ?? []).flatMap(pseudoOf),
    removed: (ok?.headersToRemove ?? []).map(name => name.toLowerCase()).filter(isChangeable),
    query:
      ok && ok.queryParametersToSet.length + ok.queryParametersToRemove.length > 0
        ? {
            set: ok.queryParametersToSet.map(({ key = '', value = '' }) => [key, value] as const),
            removed: ok.queryParametersToRemove,
          }
        : undefined,
    responseChanges: changesOf(ok?.responseHeadersToAdd, 'set'),
    metadata,
  }
}

function changesOf(options: readonly HeaderValueOption[] = [], unsaid: 'set' | 'append'): FieldChange[] {
  return options.flatMap(option => changeOf(option, unsaid) ?? [])
}

const ACTIONS = {
  [APPEND_ACTION.addIfAbsent]: 'addIfAbsent',
  [APPEND_ACTION.overwriteIfExistsOrAdd]: 'set',
  [APPEND_ACTION.overwriteIfExists]: 'setIfPresent',
} as const

/** `unsaid`: the default action; a value for the backend replaces the client's. */
function changeOf({ header, append, appendAction }: HeaderValueOption, unsaid: 'set' | 'append') {
  if (header?.key === undefined) return undefined
  const older = append && (append.value ? 'append' : 'set')
  // Each cookie is a separate field.
  const usual = header.key.toLowerCase() === 'set-cookie' ? 'append' : unsaid
  const action = older ?? ACTIONS[appendAction as keyof typeof ACTIONS] ?? usual
  return fieldChange(header.key, textOf(header), action)
}

function textOf({ value, rawValue }: NonNullable<HeaderValueOption['header']>): string {
  if (rawValue === undefined || rawValue.length === 0) return value ?? ''
  return Buffer.from(rawValue).toString(isUtf8(rawValue) ? 'utf8' : 'latin1')
}

function pseudoOf({ header }: HeaderValueOption): (readonly [string, string])[] {
  const name = header?.key?.toLowerCase()
  if (header === undefined || name === undefined) return []
  const value = toFieldValue(textOf(header))
  if (value === undefined) return []
  if (name === 'host') return [[':authority', value]]
  return name.startsWith(':') && isFieldName(name.slice(1)) ? [[name, value]] : []
}
