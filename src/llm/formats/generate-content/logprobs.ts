import type { Logprobs, TokenLogprob } from '../../chat/chat.ts'
import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from '../../chat/json.ts'

/** Undefined if the candidate has none. */
export function readLogprobs(value: unknown): Logprobs | undefined {
  if (!isObject(value)) return undefined
  const top = listOf(value.topCandidates)
  const content = listOf(value.chosenCandidates).map((each, i) => ({
    ...readToken(objectOf(each)),
    top_logprobs: listOf(objectOf(top[i]).candidates).map(other => readToken(objectOf(other))),
  }))
  return { content }
}

function readToken({ token, logProbability }: JsonObject): Omit<TokenLogprob, 'top_logprobs'> {
  const text = textOf(token) ?? ''
  return { token: text, logprob: numberOf(logProbability) ?? 0, bytes: [...Buffer.from(text)] }
}

export function writeLogprobs({ content }: Logprobs): JsonObject {
  const write = ({ token, logprob }: Pick<TokenLogprob, 'token' | 'logprob'>) => ({ token, logProbability: logprob })
  return {
    topCandidates: content.map(({ top_logprobs: top }) => ({ candidates: (top ?? []).map(write) })),
    chosenCandidates: content.map(write),
  }
}
