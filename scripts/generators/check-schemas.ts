import { reportSchema } from '../../src/diagnostics/render/report-schema.ts'
import { emit } from '../../src/schema/emit.ts'
import { settings } from '../../src/tools/check/settings.ts'
import type { Generator } from './generator.ts'

/** The schemas of what `gwctl validate` writes and reads besides configurations. */
export const checkSchemas: Generator = {
  name: 'check schemas',
  async outputs() {
    const report = emit(reportSchema, { title: 'gwctl diagnostics report', description: '`gwctl validate -o json`.' })
    const file = emit(settings, { title: 'gwctl settings', description: '`.gwctl.yaml`, read by `gwctl validate`.' })
    return new Map([
      ['schemas/diagnostics-report.schema.json', `${JSON.stringify(report, null, 2)}\n`],
      ['schemas/gwctl-settings.schema.json', `${JSON.stringify(file, null, 2)}\n`],
    ])
  },
}
