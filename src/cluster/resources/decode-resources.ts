import type { CelCompiler, PatternCompiler } from '../../cel/expression.ts'
import { CODES } from '../../diagnostics/codes.ts'
import type { Diagnostic, Finding } from '../../diagnostics/diagnostic.ts'
import { decode } from '../../schema/decode.ts'
import { asFields } from '../../schema/untyped.ts'
import { place, type Resource, type Written } from './resource.ts'

export interface Engines {
  cel?: CelCompiler | undefined
  patterns?: PatternCompiler | undefined
}

interface Decoded {
  readonly resource: Resource
  readonly findings: readonly Finding[]
}

/** Checks each resource by itself. The expression engine is loaded only if one of them contains an expression. */
export async function decodeResources(
  written: readonly Written[],
  engines: Engines,
  diagnostics: Diagnostic[],
): Promise<Resource[]> {
  const resources: Resource[] = []
  for (const each of written) {
    const { resource, findings } = await decodeOne(each, engines)
    resources.push(resource)
    for (const finding of findings) diagnostics.push(place(resource, finding))
  }
  return resources
}

async function decodeOne(written: Written, engines: Engines): Promise<Decoded> {
  // Encrypted with SOPS: names and keys can be referenced, values are unknown.
  if (asFields(written.raw.sops)) return { resource: { ...written, mistakes: [written.path] }, findings: [] }
  for (;;) {
    const findings: Finding[] = []
    const missing = new Set<'cel' | 'patterns'>()
    decode(written.kind.schema, written.raw, written.path, {
      report: finding => findings.push(finding),
      cel: engines.cel,
      patterns: engines.patterns,
      missing,
      dropsNulls: true,
    })
    if (missing.size === 0) {
      const mistakes = findings.filter(({ code }) => CODES[code].severity === 'error').map(({ path }) => path)
      return { resource: { ...written, mistakes }, findings }
    }
    if (missing.has('cel')) engines.cel ??= (await import('../../cel/compiler.ts')).createCelCompiler()
    if (missing.has('patterns')) engines.patterns ??= (await import('../../cel/pattern.ts')).createPatternCompiler()
  }
}
