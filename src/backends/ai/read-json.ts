import { contentCoding, decodeWhole } from '../../calls/content-coding.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import { JsonBody } from '../../llm/json-body.ts'
import { BODY_LIMIT } from './provider-target.ts'

/** The request body, read whole, decoded and parsed. Throws GatewayErrors that have no body of their own. */
export async function readJson(x: Exchange): Promise<JsonBody> {
  const raw = x.body.bytes ?? (await x.body.buffer(BODY_LIMIT))
  const header = x.request.headers.get('content-encoding')
  const coding = contentCoding(header)
  if (coding === 'unknown') {
    throw new GatewayError('llmRequest', { status: 415, detail: `unsupported content encoding: ${header}` })
  }
  const body = JsonBody.parse(coding === undefined ? raw : await decodeWhole(raw, coding, BODY_LIMIT))
  if (body === undefined) throw new GatewayError('llmRequest', { detail: 'the body must be a JSON object' })
  return body
}
