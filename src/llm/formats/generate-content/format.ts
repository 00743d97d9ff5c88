import { isObject } from '../../chat/json.ts'
import { count, member } from '../../usage.ts'
import type { Format } from '../format.ts'
import { addressIn } from './address.ts'
import { decodeRequest } from './decode-request.ts'
import { googleErrors } from './errors.ts'
import { readUsage } from './reply.ts'

function model(reply: unknown): string | undefined {
  const name = member(reply, 'modelVersion')
  return typeof name === 'string' ? name : undefined
}

export const generateContent: Format = {
  name: 'generateContent',
  errors: googleErrors,
  cache: 'included',
  address: addressIn,
  usageKey: 'usageMetadata',
  usage: reply => readUsage(member(reply, 'usageMetadata')),
  model,
}

export const geminiCountTokens: Format = {
  name: 'geminiCountTokens',
  counted: {
    conversation: body => decodeRequest(isObject(body.generateContentRequest) ? body.generateContentRequest : body),
    reply: tokens => ({ totalTokens: tokens }),
  },
  errors: googleErrors,
  cache: 'included',
  address: addressIn,
  usage(reply) {
    const counted = count(reply, 'totalTokens')
    return counted === undefined ? undefined : { counted }
  },
  model,
}
