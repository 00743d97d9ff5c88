import { configDump } from '../../src/config/dump.ts'
import { emit } from '../../src/schema/emit.ts'
import { testFile } from '../../src/tools/test-file/test-file.ts'
import type { Generator } from './generator.ts'

/** The schemas of what `gwctl dump` prints, and of what `gwctl test` runs and `gwctl trace` saves. */
export const savedFiles: Generator = {
  name: 'saved files',
  async outputs() {
    const dump = emit(configDump, { title: 'gwctl configuration dump', description: '`/config_dump`, `gwctl dump`.' })
    const cases = emit(testFile, { title: 'gwctl test file', description: '`*.gwtest.yaml`, for `gwctl test`.' })
    return new Map([
      ['schemas/config-dump.schema.json', `${JSON.stringify(dump, null, 2)}\n`],
      ['schemas/gwtest.schema.json', `${JSON.stringify(cases, null, 2)}\n`],
    ])
  },
}
