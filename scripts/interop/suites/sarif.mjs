// SARIF reports against the schema of SARIF 2.1.0 (OASIS), which lies in fixtures/cli.
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { missingBuild, reportsIn } from '../reports.mjs'

export const name = 'sarif'
export const title = 'SARIF 2.1.0 (its schema, rtm.5), against reports of gwctl validate'

export async function needs() {
  return missingBuild()
}

export async function run() {
  const {
    $schema: _,
    id: __,
    ...schema
  } = JSON.parse(readFileSync(new URL('../../../fixtures/cli/sarif-2.1.0-rtm.5.schema.json', import.meta.url), 'utf8'))
  const isValid = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false, logger: false }).compile(
    schema,
  )
  const outcome = { passed: 0, known: [], failed: [] }
  for (const report of reportsIn('sarif')) {
    if (isValid(JSON.parse(report.text))) outcome.passed++
    else outcome.failed.push({ case: report.name, reason: JSON.stringify(isValid.errors[0]) })
  }
  return outcome
}
