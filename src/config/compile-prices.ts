import type { Path } from '../diagnostics/diagnostic.ts'
import type { CostCatalog } from '../http/exchange.ts'
import { type CatalogSpec, catalogSchema } from '../llm/cost/catalog-schema.ts'
import { PriceList } from '../llm/cost/price-list.ts'
import { decode, INVALID } from '../schema/decode.ts'
import { type Compilation, readReferenced } from './compile-context.ts'
import type { ConfigSection } from './standalone/config-section.ts'

const PATH: Path = ['config', 'modelCatalog']

/** The catalogs of `config.modelCatalog`, or the files that `MODEL_CATALOG_PATHS` lists in its place. */
export function compilePrices(section: ConfigSection | undefined, c: Compilation): CostCatalog | undefined {
  const { MODEL_CATALOG_PATHS: listed } = c.env
  const sources = listed
    ? listed.split(',').map(file => ({ file: file.trim(), inline: undefined }))
    : (section?.modelCatalog ?? [])
  if (sources.length === 0) return undefined
  const read = sources.flatMap(({ file, inline }, i) => {
    if (typeof inline === 'object') return inline
    const at: Path = listed ? [] : [...PATH, i, inline === undefined ? 'file' : 'inline']
    const text = inline ?? readReferenced(c, file as string, at)?.toString('utf8')
    return text === undefined ? [] : (catalogIn(text, file, at, c) ?? [])
  })
  return new PriceList(read)
}

function catalogIn(text: string, file: string | undefined, at: Path, c: Compilation): CatalogSpec | undefined {
  const refuse = (why: string): undefined => {
    const where = file === undefined ? 'the catalog' : `the catalog in \`${file}\``
    c.report({ code: 'GW207', path: at, at: 'value', message: `${where} cannot be used: ${why}` })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return refuse(`it is not valid JSON (${(error as Error).message})`)
  }
  const wrong: string[] = []
  const catalog = decode(catalogSchema, value, [], {
    report: ({ message, path }) => wrong.push(path.length === 0 ? message : `${path.join('.')}: ${message}`),
    cel: undefined,
    patterns: undefined,
    missing: new Set(),
  })
  const [first, ...more] = wrong
  if (first !== undefined) return refuse(more.length === 0 ? first : `${first}; and ${more.length} more`)
  return catalog === INVALID ? undefined : catalog
}
