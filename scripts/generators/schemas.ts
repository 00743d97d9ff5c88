import { KINDS } from '../../src/cluster/kinds/index.ts'
import { standalone } from '../../src/config/standalone/standalone.ts'
import type { Schema } from '../../src/schema/builder.ts'
import { type EmitOptions, emit } from '../../src/schema/emit.ts'
import type { Generator } from './generator.ts'

const DOCUMENTS: readonly ({ readonly file: string; readonly schema: Schema<unknown> } & EmitOptions)[] = [
  {
    file: 'standalone',
    schema: standalone,
    title: 'gwctl configuration',
    description: 'The standalone configuration file of gwctl.',
  },
]
/** One schema for each kind of declarative resource; `gwctl` itself needs none of them. */
const RESOURCES = KINDS.map(({ kind, schema }) => ({
  file: kind.replace(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-').toLowerCase(),
  schema,
  title: kind,
}))

/** schemas/*.schema.json: the declarations, for editors and other tools. */
export const schemas: Generator = {
  name: 'schemas',
  async outputs() {
    return new Map(
      [...DOCUMENTS, ...RESOURCES].map(({ file, schema, ...options }) => [
        `schemas/${file}.schema.json`,
        `${JSON.stringify(emit(schema, options), null, 2)}\n`,
      ]),
    )
  },
}
