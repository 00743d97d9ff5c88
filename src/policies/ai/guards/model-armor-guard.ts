// Google's Model Armor: https://cloud.google.com/security-command-center/docs/reference/model-armor/rest
import { isObject } from '../../../llm/chat/json.ts'
import { ALLOW, type Guard, type Refusal } from '../../../llm/guards/guard.ts'
import { askGuard, type GuardService, unusable } from './ask-guard.ts'

export interface ModelArmorSpec {
  readonly templateId: string
  readonly projectId: string
  readonly location: string
}

export function modelArmorGuard(
  about: Pick<Guard, 'name' | 'origins' | 'scope'>,
  { projectId, location, templateId }: ModelArmorSpec,
  service: GuardService,
  refusal: Refusal,
): Guard {
  const [project, place, name] = [projectId, location, templateId].map(encodeURIComponent)
  const template = `/v1/projects/${project}/locations/${place}/templates/${name}`
  return {
    ...about,
    async check({ phase, runs }, _x, own) {
      const text = runs.flatMap(({ texts }) => texts).join('\n')
      const question =
        phase === 'request'
          ? { path: `${template}:sanitizeUserPrompt`, body: { user_prompt_data: { text } } }
          : { path: `${template}:sanitizeModelResponse`, body: { model_response_data: { text } } }
      const answer = await askGuard(service, question, own)
      const result = answer.sanitizationResult ?? answer.sanitization_result
      if (!isObject(result)) throw unusable('answered without a result')
      if (matches(result)) return { action: 'reject', refusal }
      const ran = result.invocationResult ?? result.invocation_result
      // A filter that could not run reports no match either.
      if (ran === 'FAILURE' || ran === 'PARTIAL') throw unusable('could not run all of its filters')
      return ALLOW
    },
  }
}

/** Filters are a list or keyed by name, each with its own results. */
function matches(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(matches)
  return isObject(value) ? Object.values(value).some(matches) : value === 'MATCH_FOUND'
}
