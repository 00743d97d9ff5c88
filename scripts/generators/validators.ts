import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import standaloneCode from 'ajv/dist/standalone/index.js'
import { build } from 'esbuild'
import type { Generator } from './generator.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What gwctl reads back that it has written itself. Configurations are read by their declarations, which say more. */
const COMPILED = ['config-dump', 'trace-event']

/** src/generated/validators: published schemas, compiled, so that reading a saved file needs no Ajv. */
export const validators: Generator = {
  name: 'validators',
  async outputs() {
    const out = new Map<string, string>()
    for (const name of COMPILED) {
      const schema: unknown = JSON.parse(await readFile(`${root}schemas/${name}.schema.json`, 'utf8'))
      out.set(`src/generated/validators/${name}.js`, await compile(bare(schema) as object))
      out.set(`src/generated/validators/${name}.d.ts`, TYPES)
    }
    return out
  },
  owns: ['src/generated/validators'],
}
const TYPES = `export interface SchemaError {
  readonly instancePath: string
  readonly schemaPath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}
/** Says whether a parsed document fits the published JSON Schema; \`errors\` tells of the last one that did not. */
export declare const validate: {
  (document: unknown): boolean
  errors?: readonly SchemaError[] | null
}
`

async function compile(schema: object): Promise<string> {
  const ajv = new Ajv2020({
    inlineRefs: false,
    messages: false,
    strict: false,
    validateFormats: false,
    code: { source: true, esm: true, optimize: 2 },
  })
  const generate = standaloneCode as unknown as typeof standaloneCode.default
  ajv.addSchema(schema, 'document')
  // What Ajv's code asks of Ajv at run time is bundled in.
  const result = await build({
    stdin: { contents: generate(ajv, { validate: 'document' }), resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    minify: true,
    legalComments: 'none',
  })
  return result.outputFiles[0]!.text
}

/** Without what only people read: a third of the code otherwise. */
function bare(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map(item => bare(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => isNames || !NOTES.test(key))
      .map(([key, item]) => [key, bare(item, key === 'properties' || key === '$defs')]),
  )
}

const NOTES = /^(title|description|default|deprecated|writeOnly|format|x-.*)$/
