import { readdirSync, readFileSync } from 'node:fs'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { createPatternCompiler } from '../../src/cel/pattern.ts'
import { standalone } from '../../src/config/standalone/standalone.ts'
import { CODES } from '../../src/diagnostics/codes.ts'
import { type Finding, formatPath } from '../../src/diagnostics/diagnostic.ts'
import { parseSource } from '../../src/diagnostics/source.ts'
import type { Schema } from '../../src/schema/builder.ts'
import { decode, INVALID } from '../../src/schema/decode.ts'

const cel = createCelCompiler()
const patterns = createPatternCompiler()

export interface Decoded {
  readonly value: unknown
  readonly errors: readonly Finding[]
  /** GW6xx. */
  readonly unserved: readonly Finding[]
}

/** A document through the declaration, with both engines loaded. */
export function decodeWith(schema: Schema<unknown>, document: unknown): Decoded {
  const findings: Finding[] = []
  const report = (finding: Finding) => findings.push(finding)
  const value = decode(schema, document, [], { report, paths: new WeakMap(), cel, patterns, missing: new Set() })
  return {
    value: value === INVALID ? undefined : value,
    errors: findings.filter(finding => CODES[finding.code].severity === 'error'),
    unserved: findings.filter(finding => finding.code.startsWith('GW6')),
  }
}

export const decodeStandalone = (document: unknown): Decoded => decodeWith(standalone, document)

/** `GW103 binds[0].listeners`. */
export function inShort(findings: readonly Finding[]): string[] {
  return findings.map(finding => `${finding.code} ${formatPath(finding.path)}`)
}

export interface Fixture {
  readonly name: string
  /** Of `fixtures/err`: the code that the file's name promises. */
  readonly code: string
  readonly text: string
  readonly document: unknown
}

export function readFixtures(folder: 'ok' | 'err'): Fixture[] {
  const root = new URL(`../../fixtures/${folder}/`, import.meta.url)
  return readdirSync(root)
    .filter(file => file.endsWith('.yaml'))
    .sort()
    .map(file => {
      const text = readFileSync(new URL(file, root), 'utf8')
      const source = parseSource(file, text, { env: {} })
      const document = source.documents[0]!
      return { name: file, code: file.split('.')[0]!, text, document: document.empty ? {} : document.value }
    })
}
