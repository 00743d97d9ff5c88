import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

/** What lets everything pass, by the paths of the services that guards know; elsewhere that of a webhook. */
const PASSING: readonly (readonly [path: RegExp, answer: object])[] = [
  [/^\/guardrail\/[^/]+\/version\/[^/]+\/apply$/, { action: 'NONE', assessments: [], outputs: [] }],
  [/^\/v1\/moderations$/, { results: [{ flagged: false, categories: {} }] }],
  [/:sanitize(?:UserPrompt|ModelResponse)$/, { sanitizationResult: { filterMatchState: 'NO_MATCH_FOUND' } }],
  [/\/contentsafety\/text:analyze/, { categoriesAnalysis: [], blocklistsMatch: [] }],
  [/\/contentsafety\/text:detectJailbreak/, { jailbreakAnalysis: { detected: false } }],
]

/** A guard's service that has nothing to say against a text; undefined for a call of something else. */
export function guardReply({ path, purpose }: StubCall): StubReply | undefined {
  if (purpose?.subtype !== 'Guardrail') return undefined
  return jsonReply(PASSING.find(([known]) => known.test(path))?.[1] ?? { action: {} })
}
