import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

/** Answers that admit everything, by the paths of the services that guards call; otherwise that of a webhook. */
const PASSING: readonly (readonly [path: RegExp, answer: object])[] = [
  [/^\/guardrail\/[^/]+\/version\/[^/]+\/apply$/, { action: 'NONE', assessments: [], outputs: [] }],
  [/^\/v1\/moderations$/, { results: [{ flagged: false, categories: {} }] }],
  [/:sanitize(?:UserPrompt|ModelResponse)$/, { sanitizationResult: { filterMatchState: 'NO_MATCH_FOUND' } }],
  [/\/contentsafety\/text:analyze/, { categoriesAnalysis: [], blocklistsMatch: [] }],
  [/\/contentsafety\/text:detectJailbreak/, { jailbreakAnalysis: { detected: false } }],
]

/** The reply of a guard service that admits a text. Undefined for other calls. */
export function guardReply({ path, purpose }: StubCall): StubReply | undefined {
  if (purpose?.subtype !== 'Guardrail') return undefined
  return jsonReply(PASSING.find(([known]) => known.test(path))?.[1] ?? { action: {} })
}
