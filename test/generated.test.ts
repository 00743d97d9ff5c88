import { expect, test } from 'vitest'
import { differences } from '../scripts/generate.ts'
import { GENERATORS } from '../scripts/generators/index.ts'

test.each(GENERATORS.map(generator => [generator.name, generator] as const))(
  '%s: the committed files match their sources',
  async (_name, generator) => {
    expect((await differences(generator)).map(({ path }) => path)).toEqual([])
  },
)

test.each(GENERATORS.map(generator => [generator.name, generator] as const))(
  '%s: generating twice gives the same output',
  async (_name, generator) => {
    expect([...(await generator.outputs())]).toEqual([...(await generator.outputs())])
  },
)

test('detects stale, missing and superfluous files', async () => {
  const found = await differences({
    name: 'planted',
    owns: ['test/architecture'],
    outputs: async () =>
      new Map([
        ['package.json', 'something else'],
        ['no-such-file.json', '{}'],
      ]),
  })
  expect(found).toContainEqual({ path: 'package.json', text: 'something else' })
  expect(found).toContainEqual({ path: 'no-such-file.json', text: '{}' })
  expect(found).toContainEqual({ path: 'test/architecture/layers.ts', text: undefined })
})
