import { expect, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'

/** The names under which a configuration keeps its state. */
async function stateNames(text: string): Promise<string[]> {
  const names: string[] = []
  const runtime = offlineRuntime()
  const state: typeof runtime.state = {
    get(name, make) {
      names.push(name)
      return make()
    },
    memory(name, bytes) {
      names.push(name)
      return new ArrayBuffer(bytes)
    },
  }
  await load('a.yaml', text, {
    env: {},
    tier: 'offline',
    runtime: { ...runtime, state },
    readReferenced: () => undefined,
  })
  return names.sort()
}

const models = (count: number, more = '') =>
  `llm: {models: [${Array.from({ length: count }, (_, i) => `{name: m${i}, provider: openAI${more}}`).join(', ')}]}`

test('state has the same name for the same text, and a new one for changed text', async () => {
  const names = await stateNames(models(2))
  expect(names).toHaveLength(new Set(names).size)
  expect(await stateNames(models(2))).toEqual(names)
  const changed = await stateNames(models(2, ', visibility: internal'))
  expect(changed).toHaveLength(names.length)
  expect(changed.filter(name => names.includes(name))).toEqual([])
})

test('state names stay short in a section with many parts', async () => {
  const [few, many] = await Promise.all([stateNames(models(10)), stateNames(models(500))])
  expect(many.length).toBeGreaterThan(few.length)
  expect(Math.max(...many.map(name => name.length))).toBeLessThan(200)
})
