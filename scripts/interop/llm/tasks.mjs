// What every client does with every model, and what has to come of it.

/** A red dot. */
export const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=='

export const SYSTEM = 'Be short.'
export const PROMPTS = {
  chat: 'Say hello.',
  tools: 'What is the weather in Paris and in Rome?',
  json: 'Who is Ada? Answer in JSON.',
  picture: 'What is in this picture?',
  error: 'Too many of these.',
}
export const GREETING = 'Hello, wörld 🎈!'
export const PERSON = { name: 'Ada', age: 36 }
export const SEEN = 'A red dot.'
export const FORECAST = 'Sunny in Paris, rain in Rome.'
export const WEATHER = { Paris: 'sunny', Rome: 'rain' }
export const VECTOR = [0.5, -0.25, 0.125]

/** Of the tool `get_weather`. */
export const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string', description: 'The city.' } },
  required: ['city'],
  additionalProperties: false,
}
export const TOOL = { name: 'get_weather', description: 'The weather in a city.' }
export const PERSON_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
}

/** Throws for what is not as the task wants it. */
export const EXPECTED = {
  chat: same(GREETING),
  stream: same(GREETING),
  tools: same(FORECAST),
  'tools, streamed': same(FORECAST),
  JSON: same(JSON.stringify(PERSON)),
  picture: same(SEEN),
  'an error': same('429'),
  embeddings: same(JSON.stringify(VECTOR)),
}

function same(wanted) {
  return got => {
    if (got !== wanted) throw new Error(`got ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`)
  }
}

/** The calls that the model is to make, as a client sees them. */
export function weatherOf(calls) {
  const cities = calls.map(({ name, args }) => {
    if (name !== TOOL.name) throw new Error(`a call of ${name}`)
    return args.city
  })
  if (cities.join() !== 'Paris,Rome') throw new Error(`calls for ${cities.join()}`)
  return cities.map(city => WEATHER[city])
}
