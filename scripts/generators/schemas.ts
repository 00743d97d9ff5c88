import { standalone } from '../../src/config/standalone/standalone.ts'
import type { Schema } from '../../src/schema/builder.ts'
import { type EmitOptions, emit } from '../../src/schema/emit.ts'
import type { Generator } from './generator.ts'

export const DOCUMENTS: readonly ({ readonly file: string; readonly schema: Schema<unknown> } & EmitOptions)[] = [
  {
    file: 'standalone',
    schema: standalone,
    title: 'gwctl configuration',
    description: 'The standalone configuration file of gwctl.',
  },
]

/** schemas/*.schema.json: the declarations, for editors and other tools. */
export const schemas: Generator = {
  name: 'schemas',
  async outputs() {
    return new Map(
      DOCUMENTS.map(({ file, schema, ...options }) => [
        `schemas/${file}.schema.json`,
        `${JSON.stringify(emit(schema, options), null, 2)}\n`,
      ]),
    )
  },
}
