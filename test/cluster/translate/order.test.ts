import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderTranslation } from '../../../src/tools/input/translate-resources.ts'
import { translated } from './translate.ts'

const folder = new URL('../../../fixtures/translate/cases/', import.meta.url)
const files = readdirSync(folder).sort()

/** The same numbers every time. */
function* numbers(seed: number): Generator<number> {
  let state = seed
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    yield state / 2 ** 32
  }
}

function shuffled<T>(items: readonly T[], random: Generator<number>): T[] {
  const out = [...items]
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor((random.next().value as number) * (i + 1))
    ;[out[i], out[j]] = [out[j]!, out[i]!]
  }
  return out
}

async function bytes(texts: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const made = await translated(texts, { filesDir: 'files' })
  return [
    renderTranslation(made, 'yaml', false),
    renderTranslation(made, 'status', false),
    made.losses.map(({ resource, path, code, message }) => `${resource} ${path} ${code} ${message}`).join('\n'),
  ]
}

test.each(files)('%s translates to the same bytes in any order and any number of files', async file => {
  const text = readFileSync(new URL(file, folder), 'utf8')
  const documents = text.split(/^---$/m)
  const whole = await bytes({ [file]: text })
  const random = numbers(file.length)
  for (let round = 0; round < 4; round++) {
    const order = shuffled(documents, random)
    const at = Math.floor((random.next().value as number) * (order.length + 1))
    const split = { 'z.yaml': order.slice(0, at).join('\n---\n'), 'a.yaml': order.slice(at).join('\n---\n') }
    expect(await bytes(split)).toEqual(whole)
  }
})
