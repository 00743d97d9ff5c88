// npm run attack [-- WORDS...]: carries out every attack of the table in SECURITY.md (or those whose area or name has
// one of the words) against the built product, on loopback only. Exits with 1 on a breach, and where nothing ran.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AREAS } from './areas.mjs'
import { Breach, openArena } from './arena.mjs'

const words = process.argv.slice(2).map(word => word.toLowerCase())
const wanted = (...texts) =>
  words.length === 0 || words.some(word => texts.some(text => text.toLowerCase().includes(word)))

async function main() {
  if (!existsSync(fileURLToPath(new URL('../../dist/cli.js', import.meta.url)))) {
    throw new Error('gwctl is not built: run `npm run bundle` first')
  }
  const counts = { held: 0, breached: 0, skipped: 0 }
  for (const { title, attacks } of AREAS) {
    const chosen = attacks.filter(({ name }) => wanted(title, name))
    if (chosen.length > 0) say(`\n${title}`)
    for (const attack of chosen) {
      const { outcome, text } = await carryOut(attack)
      counts[outcome]++
      say(`  ${outcome.toUpperCase().padEnd(8)} ${attack.name}\n${' '.repeat(11)}${text}`)
    }
  }
  say(`\n${counts.held} held, ${counts.breached} breached, ${counts.skipped} skipped`)
  if (counts.breached > 0 || counts.held === 0) process.exitCode = 1
}

/** Nothing that an attack started outlives it. */
async function carryOut({ run, defends }) {
  const arena = openArena()
  try {
    const figure = await run(arena)
    if (typeof figure === 'object') return { outcome: 'skipped', text: figure.skipped }
    arena.survived()
    return { outcome: 'held', text: `${defends} (${figure})` }
  } catch (error) {
    return { outcome: 'breached', text: error instanceof Breach ? error.message : `the attack failed: ${error.stack}` }
  } finally {
    await arena.close()
  }
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
