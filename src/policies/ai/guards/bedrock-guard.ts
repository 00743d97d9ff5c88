// Guardrails of Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html
import { isObject, listOf, textOf } from '../../../llm/chat/json.ts'
import { ALLOW, type Guard, type Refusal } from '../../../llm/guards/guard.ts'
import type { TextRun } from '../../../llm/guards/texts.ts'
import { askGuard, type GuardService, unusable } from './ask-guard.ts'

export interface BedrockSpec {
  readonly guardrailIdentifier: string
  readonly guardrailVersion: string
}

export function bedrockGuard(
  about: Pick<Guard, 'name' | 'origins' | 'scope'>,
  { guardrailIdentifier, guardrailVersion }: BedrockSpec,
  service: GuardService,
  refusal: Refusal,
): Guard {
  const [id, version] = [guardrailIdentifier, guardrailVersion].map(encodeURIComponent)
  const path = `/guardrail/${id}/version/${version}/apply`
  return {
    ...about,
    async check({ phase, runs }, _x, own) {
      const texts = runs.flatMap(run => run.texts).filter(text => text !== '')
      const content = texts.map(text => ({ text: { text } }))
      const body = { source: phase === 'request' ? 'INPUT' : 'OUTPUT', content }
      const { action, assessments, outputs } = await askGuard(service, { path, body }, own)
      if (action === 'NONE') return ALLOW
      if (action !== 'GUARDRAIL_INTERVENED') throw unusable('answered without an `action`')
      const masked = listOf(outputs).map(output => (isObject(output) ? textOf(output.text) : undefined))
      const anonymized = hasAction(assessments, 'ANONYMIZED') && !hasAction(assessments, 'BLOCKED')
      if (!anonymized || masked.length !== texts.length || masked.includes(undefined))
        return { action: 'reject', refusal }
      return { action: 'mask', texts: laidOut(runs, masked as string[]) }
    },
  }
}

/** Whether any assessment took that action. */
function hasAction(value: unknown, action: string): boolean {
  if (Array.isArray(value)) return value.some(each => hasAction(each, action))
  if (!isObject(value)) return false
  return value.action === action || Object.values(value).some(each => hasAction(each, action))
}

function laidOut(runs: readonly TextRun[], masked: readonly string[]): ReadonlyMap<TextRun, readonly string[]> {
  let next = 0
  return new Map(runs.map(run => [run, run.texts.map(text => (text === '' ? text : (masked[next++] as string)))]))
}
