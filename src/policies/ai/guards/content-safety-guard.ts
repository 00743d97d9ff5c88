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

/** Maximum characters per call, and how many of them the next piece repeats. */
const [LONGEST, OVERLAP] = [10_000, 200]
const SEVERITY = 2

export function contentSafetyGuard(
  about: Pick<Guard, 'name' | 'origins' | 'scope'>,
  spec: ContentSafetySpec,
  service: GuardService,
  refusal: Refusal,
): Guard {
  const { detectJailbreak } = spec
  const analysis = spec.analyzeText ?? (detectJailbreak ? undefined : {})
  const harmful = analysis && compileAnalysis(analysis)
  const attack = detectJailbreak && pathOf('detectJailbreak', detectJailbreak.apiVersion ?? '2024-02-15-preview')
  return {
    ...about,
    async check({ phase, runs }, _x, own) {
      const pieces = piecesOf(runs.flatMap(({ texts }) => texts).join('\n'))
      for (const text of pieces) {
        if (harmful && (await isHarmful(text, harmful, service, own))) return { action: 'reject', refusal }
        const asked = attack !== undefined && phase === 'request'
        if (asked && (await isAttack(text, attack, service, own))) return { action: 'reject', refusal }
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

function pathOf(operation: string, apiVersion: string): string {
  return `/contentsafety/text:${operation}?api-version=${encodeURIComponent(apiVersion)}`
}

interface Analysis {
  readonly path: string
  /** Minimum severity at which a text is rejected. */
  readonly threshold: number
  /** Request members besides the text. */
  readonly options: object
}

function compileAnalysis(spec: NonNullable<ContentSafetySpec['analyzeText']>): Analysis {
  const { severityThreshold = SEVERITY, apiVersion = '2024-09-01', blocklistNames, haltOnBlocklistHit } = spec
  return {
    path: pathOf('analyze', apiVersion),
    threshold: severityThreshold,
    options: {
      ...(blocklistNames === undefined ? {} : { blocklistNames }),
      ...(haltOnBlocklistHit === undefined ? {} : { haltOnBlocklistHit }),
    },
  }
}

async function isHarmful(
  text: string,
  { path, threshold, options }: Analysis,
  service: GuardService,
  own: Exchange,
): Promise<boolean> {
  const { categoriesAnalysis, blocklistsMatch } = await askGuard(service, { path, body: { text, ...options } }, own)
  if (listOf(blocklistsMatch).length > 0) return true
  if (!Array.isArray(categoriesAnalysis)) throw unusable('answered without an analysis')
  const severities = categoriesAnalysis.map(each => (isObject(each) ? (each.severity ?? 0) : undefined))
  if (severities.some(severity => typeof severity !== 'number')) throw unusable('answered without a severity')
  return severities.some(severity => (severity as number) >= threshold)
}

async function isAttack(text: string, path: string, service: GuardService, own: Exchange): Promise<boolean> {
  const { jailbreakAnalysis } = await askGuard(service, { path, body: { text } }, own)
  const detected = isObject(jailbreakAnalysis) ? jailbreakAnalysis.detected : undefined
  if (typeof detected !== 'boolean') throw unusable('answered without a verdict')
  return detected
}
