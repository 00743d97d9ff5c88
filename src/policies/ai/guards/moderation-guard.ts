// OpenAI's moderation: https://platform.openai.com/docs/api-reference/moderations
import { isObject } from '../../../llm/chat/json.ts'
import { ALLOW, type Guard, type Refusal } from '../../../llm/guards/guard.ts'
import { askGuard, type GuardService, unusable } from './ask-guard.ts'

export function moderationGuard(
  about: Pick<Guard, 'name' | 'origins' | 'scope'>,
  model: string,
  service: GuardService,
  refusal: Refusal,
): Guard {
  return {
    ...about,
    async check({ runs }, _x, own) {
      const input = runs.flatMap(({ texts }) => texts).filter(text => text !== '')
      const { results } = await askGuard(service, { path: '/v1/moderations', body: { model, input } }, own)
      if (!Array.isArray(results) || results.length === 0) throw unusable('answered without `results`')
      const flagged = results.map(result => (isObject(result) ? result.flagged : undefined))
      if (flagged.includes(true)) return { action: 'reject', refusal }
      if (flagged.some(each => each !== false)) throw unusable('answered without a verdict')
      return ALLOW
    },
  }
}
