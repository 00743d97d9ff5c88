// Guards over a whole request or response.
import { parseExact } from '../../mcp/exact-json.ts'
import { isObject, type JsonObject } from '../chat/json.ts'
import type { JsonBody } from '../json-body.ts'
import type { FormatTexts } from './format-texts.ts'
import type { Guard, Refusal } from './guard.ts'
import { type GuardCall, guardFailure, runGuards } from './run-guards.ts'
import { TextCollector, textsOf } from './texts.ts'

/** Runs guards over the current body and writes masked texts back into it. Throws GatewayError `guard`. */
export function guardRequest(
  guards: readonly Guard[],
  body: JsonBody,
  texts: FormatTexts,
  native: boolean,
  call: GuardCall,
): Refusal | undefined | Promise<Refusal | undefined> {
  if (body.ambiguous()) settleRepeated(body)
  const looked = new TextCollector()
  texts.request(current(body), looked, native)
  const done = (refusal: Refusal | undefined): Refusal | undefined => {
    if (refusal === undefined) writeBack(looked, body, texts, native)
    return refusal
  }
  const verdict = runGuards(guards, 'request', looked.messages, call)
  return verdict instanceof Promise ? verdict.then(done) : done(verdict)
}

/** The same for a response. `value` is changed in place; `changed` reports whether. */
export function guardReply(
  guards: readonly Guard[],
  value: unknown,
  texts: FormatTexts,
  call: GuardCall,
): GuardedBody | Promise<GuardedBody> {
  const looked = new TextCollector()
  for (const reply of Array.isArray(value) ? value : [value]) if (isObject(reply)) texts.reply(reply, looked)
  const done = (refusal: Refusal | undefined): GuardedBody =>
    refusal ? { refusal, changed: false } : { refusal, changed: looked.write(textsOf(looked.messages)) }
  const verdict = runGuards(guards, 'response', looked.messages, call)
  return verdict instanceof Promise ? verdict.then(done) : done(verdict)
}

export interface GuardedBody {
  readonly refusal: Refusal | undefined
  readonly changed: boolean
}

/** Rewrites what parsers may read in two ways, so that the provider reads what the guards checked. */
function settleRepeated(body: JsonBody): void {
  const read = parseExact(body.bytes().toString('utf8')) as JsonObject
  for (const key of Object.keys(read)) if (typeof read[key] === 'object') body.set(key, read[key])
}

function current(body: JsonBody): JsonObject {
  const out: JsonObject = {}
  for (const key of body.keys())
    Object.defineProperty(out, key, { value: body.get(key), enumerable: true, writable: true })
  return out
}

/** Writes into a fresh parse: the parsed body is shared, and has lost the precision of large numbers. */
function writeBack(looked: TextCollector, body: JsonBody, texts: FormatTexts, native: boolean): void {
  const masked = textsOf(looked.messages)
  const before = looked.messages.flatMap(({ runs }) => runs.flatMap(({ sites }) => sites.map(({ text }) => text)))
  if (masked.every((text, i) => text === before[i])) return
  const exact = parseExact(body.bytes().toString('utf8')) as JsonObject
  const written: Record<string, string | undefined> = {}
  for (const key of Object.keys(exact)) written[key] = JSON.stringify(exact[key])
  const again = new TextCollector()
  texts.request(exact, again, native)
  if (textsOf(again.messages).length !== masked.length)
    throw guardFailure(new Error('the body reads differently again'))
  again.write(masked)
  for (const key of Object.keys(exact)) if (JSON.stringify(exact[key]) !== written[key]) body.set(key, exact[key])
}
