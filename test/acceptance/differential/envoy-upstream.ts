import { type Plain, type ProcessCall, startEnvoyServices } from '../../helpers/envoy-services.ts'
import type { UpstreamReply } from './cases.ts'
import type { Call } from './upstreams.ts'

/** What both systems say at every call, and what differs between two runs. */
const OWN_METADATA = /^(user-agent|content-type|te|accept-encoding|grpc-[\w-]+|date)$/
const CHANGING = [/time\.(seconds|nanos)$/, /portValue$/, /http\.id$/]

export interface EnvoyPlace {
  readonly name: string
  note(call: Call): void
  reply(): UpstreamReply
}

/**
 * A server of Envoy's services. A message that it receives is noted with a line per field; `grpc` of a reply is the
 * message that it answers with, or `{code, details}` for a failed call. Otherwise it lets everything pass.
 */
export function startEnvoyUpstream({ name, note, reply }: EnvoyPlace) {
  const heard = (method: string, message: Plain, metadata?: Iterable<[string, unknown]>): Plain => {
    const fields = [...(metadata ?? [])].filter(([field]) => !OWN_METADATA.test(field))
    const told = fields.map(([field, value]) => `metadata ${field}: ${String(value)}`)
    note({ to: name, line: method, headers: [...told, ...linesOf(message)].sort(), body: '' })
    return reply().grpc
  }
  return startEnvoyServices({
    check: message => heard('Check', message) ?? { status: { code: 0 }, okResponse: {} },
    shouldRateLimit: message => heard('ShouldRateLimit', message) ?? { overallCode: 1 },
    process(message, call) {
      const [phase = ''] = Object.keys(message).filter(each => /^(request|response)(Headers|Body|Trailers)$/.test(each))
      answer(call, heard('Process', message) ?? { [phase]: {} })
    },
  })
}

function answer(call: ProcessCall, reply: Plain): void {
  if (reply.details === undefined) call.write(reply)
  else call.emit('error', reply)
}

function linesOf(message: Plain, path = ''): string[] {
  if (Buffer.isBuffer(message) || message instanceof Uint8Array)
    return [`${path}: ${Buffer.from(message).toString('latin1')}`]
  if (Array.isArray(message)) return message.flatMap((each, i) => linesOf(each, `${path}[${nameOf(each) ?? i}]`))
  if (typeof message !== 'object' || message === null)
    return [`${path}: ${CHANGING.some(each => each.test(path)) ? '<changing>' : String(message)}`]
  return Object.entries(message).flatMap(([key, value]) => linesOf(value, path === '' ? key : `${path}.${key}`))
}

/** Header fields are compared by name: their order means nothing. */
function nameOf(item: Plain): string | undefined {
  return typeof item?.key === 'string' ? item.key.replaceAll(':', '') : undefined
}
