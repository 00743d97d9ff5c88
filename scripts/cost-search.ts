// npm run cost-search [-- WORDS... [--every|--few]]: fills every place of requests, replies, frames, tokens, expressions and
// files (or those whose name has one of the words) with every kind of character up to its bound, on loopback only, and
// prints the processor time per byte. Exits with 1 where it grows faster than the input. Linux, and a built gwctl.
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { searchPlace } from './cost/search.ts'
import { textPlaces } from './cost/texts.ts'
import { openWire } from './cost/wire.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'boolean' }, few: { type: 'boolean' } },
})

async function main(): Promise<void> {
  if (!existsSync(new URL('../dist/cli.js', import.meta.url))) throw new Error('build first: npm run bundle')
  const wire = await openWire()
  try {
    const places = [...wire.places, ...textPlaces()].filter(
      ({ name }) => positionals.length === 0 || positionals.some(word => name.includes(word)),
    )
    let failed = 0
    let measured = 0
    for (const place of places) {
      const searched = await searchPlace(place, values.every ? 'every' : values.few ? 'few' : 'many')
      measured += searched.measured
      failed += searched.found.length
      const { fill, perByte } = searched.worst
      const at = `${perByte.toFixed(1).padStart(9)} ns a byte at most, filled with ${shown(fill)}`
      process.stdout.write(`${searched.found.length > 0 ? 'GROWS' : 'ok   '} ${place.name.padEnd(44)} ${at}\n`)
      for (const { fill: grows, exponent, costs } of searched.found) {
        const steps = [...costs].map(([size, ns]) => `${size / 1024} KB ${(ns / 1e6).toFixed(1)} ms`).join(', ')
        process.stdout.write(`        ${shown(grows)}: size^${exponent.toFixed(2)}: ${steps}\n`)
      }
    }
    process.stdout.write(`${places.length} places, ${measured} fillings, ${failed} grow faster than their input\n`)
    if (failed > 0 || places.length === 0) process.exitCode = 1
  } finally {
    await wire.close()
  }
}

/** In ASCII. */
function shown(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

await main()
