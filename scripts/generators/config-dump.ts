import { configDump } from '../../src/config/dump.ts'
import { emit } from '../../src/schema/emit.ts'
import type { Generator } from './generator.ts'

/** schemas/config-dump.schema.json: what `/config_dump` answers and `gwctl dump -o json` prints. */
export const configDumpSchema: Generator = {
  name: 'config dump',
  async outputs() {
    const schema = emit(configDump, { title: 'gwctl configuration dump', description: '`/config_dump`, `gwctl dump`.' })
    return new Map([['schemas/config-dump.schema.json', `${JSON.stringify(schema, null, 2)}\n`]])
  },
}
