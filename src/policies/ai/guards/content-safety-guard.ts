// Azure AI Content Safety: https://learn.microsoft.com/rest/api/contentsafety/text-operations
import type { Exchange } from '../../../http/exchange.ts'
import { isObject, listOf } from '../../../llm/chat/json.ts'
import { ALLOW, type Guard, type Refusal } from '../../../llm/guards/guard.ts'
import { askGuard, type GuardService, unusable } from './ask-guard.ts'

export interface ContentSafetySpec {
  readonly analyzeText?:
    | {
        readonly severityThreshold?: number
        readonly apiVersion?: string
        readonly blocklistNames?: readonly string[]
        readonly haltOnBlocklistHit?: boolean
      }
    | undefined
  readonly detectJailbreak?: { readonly apiVersion?: string } | undefined
}

/** Characters that the service takes at once, and how many of them the next piece repeats. */
const [LONGEST, OVERLAP] = [10_000, 200]
const SEVERITY = 2

export function contentSafetyGuard(
  about: Pick<Guard, 'name' | 'origins' | 'scope'>,
  spec: ContentSafetySpec,
  service: GuardService,
  refusal: Refusal,
): Guard {
  const { detectJailbreak } = spec
  const analyzeText = spec.analyzeText ?? (detectJailbreak ? undefined : {})
  return {
    ...about,
    async check({ phase, runs }, _x, own) {
      const pieces = piecesOf(runs.flatMap(({ texts }) => texts).join('\n'))
      for (const text of pieces) {
        if (analyzeText && (await isHarmful(text, analyzeText, service, own))) return { action: 'reject', refusal }
        const asked = detectJailbreak && phase === 'request'
        if (asked && (await isAttack(text, detectJailbreak, service, own))) return { action: 'reject', refusal }
      }
      return ALLOW
    },
  }
}

function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let at = 0; at === 0 || at + OVERLAP < text.length; at += LONGEST - OVERLAP)
    pieces.push(text.slice(at, at + LONGEST))
  return pieces
}

async function isHarmful(
  text: string,
  spec: NonNullable<ContentSafetySpec['analyzeText']>,
  service: GuardService,
  own: Exchange,
): Promise<boolean> {
  const { severityThreshold = SEVERITY, apiVersion = '2024-09-01', blocklistNames, haltOnBlocklistHit } = spec
  const body = {
    text,
    ...(blocklistNames === undefined ? {} : { blocklistNames }),
    ...(haltOnBlocklistHit === undefined ? {} : { haltOnBlocklistHit }),
  }
  const path = `/contentsafety/text:analyze?api-version=${encodeURIComponent(apiVersion)}`
  const { categoriesAnalysis, blocklistsMatch } = await askGuard(service, { path, body }, own)
  if (listOf(blocklistsMatch).length > 0) return true
  if (!Array.isArray(categoriesAnalysis)) throw unusable('answered without an analysis')
  const severities = categoriesAnalysis.map(each => (isObject(each) ? (each.severity ?? 0) : undefined))
  if (severities.some(severity => typeof severity !== 'number')) throw unusable('answered without a severity')
  return severities.some(severity => (severity as number) >= severityThreshold)
}

async function isAttack(
  text: string,
  { apiVersion = '2024-02-15-preview' }: NonNullable<ContentSafetySpec['detectJailbreak']>,
  service: GuardService,
  own: Exchange,
): Promise<boolean> {
  const path = `/contentsafety/text:detectJailbreak?api-version=${encodeURIComponent(apiVersion)}`
  const { jailbreakAnalysis } = await askGuard(service, { path, body: { text } }, own)
  const detected = isObject(jailbreakAnalysis) ? jailbreakAnalysis.detected : undefined
  if (typeof detected !== 'boolean') throw unusable('answered without a verdict')
  return detected
}
