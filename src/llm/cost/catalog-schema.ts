import {
  def,
  type Infer,
  integer,
  list,
  map,
  number,
  object,
  opt,
  type Problem,
  parsed,
  req,
  shapes,
  string,
} from '../../schema/builder.ts'

/** Token kinds with a price of their own. */
export const RATES = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'inputAudio', 'outputAudio'] as const
export type Rate = (typeof RATES)[number]

const DIGITS = /^(\d{1,9})(?:\.(\d{1,6}))?$/
const FORM = 'US dollars for a million tokens, with at most six digits after the point, such as `2.50`'

/** Millionths of a dollar per million tokens: 10^-12 dollars per token. */
function readPrice(text: string): { readonly value: number } | { readonly problem: Problem } {
  const [, whole, part = ''] = DIGITS.exec(text) ?? []
  if (whole === undefined) return { problem: { message: `\`${text}\` is not a price: write ${FORM}` } }
  return { value: Number(whole) * 1_000_000 + Number(part.padEnd(6, '0')) }
}

const price = shapes({
  string: parsed(string(), FORM, readPrice, 0),
  number: parsed(number(0), FORM, value => readPrice(String(value)), 0),
})

const rates = object('prices', {
  input: opt(price, 'Input tokens.'),
  output: opt(price, 'Output tokens.'),
  cacheRead: opt(price, 'Input tokens read from a cache; those of `input` when unset.'),
  cacheWrite: opt(price, 'Input tokens written to a cache; those of `input` when unset.'),
  reasoning: opt(price, 'Reasoning tokens; those of `output` when unset.'),
  inputAudio: opt(price, 'Audio input tokens; those of `input` when unset.'),
  outputAudio: opt(price, 'Audio output tokens; those of `output` when unset.'),
})
export type RatesSpec = Infer<typeof rates>

const model = object('priced model', {
  rates: opt(rates, 'Prices.'),
  tiers: def(
    list(
      object('price tier', {
        contextOver: req(integer(0), 'For requests with more input tokens than this.'),
        rates: req(rates, 'Prices in place of those of the model.'),
      }),
    ),
    [],
    'Prices of long requests.',
  ),
  tags: def(list(string()), [], 'Notes about the model, for readers of the catalog.', {
    inert: 'nothing reads them',
  }),
})
export type ModelPrices = Infer<typeof model>

/** Prices of models by provider (`gen_ai.provider.name`) and model name. */
export const catalogSchema = object('cost catalog', {
  providers: def(
    map(object('priced provider', { models: def(map(model), {}, 'Models by name.') })),
    {},
    'By provider.',
  ),
})
export type CatalogSpec = Infer<typeof catalogSchema>
