// npm run interop:suites [-- NAME...]: public test suites against gwctl, one file each in scripts/interop/suites. A suite
// whose data or tool is not there is skipped and says so; a skip is no pass. Exits with 1 where a case fails that is not
// on its suite's list of known differences, where a case on that list passes, and where every suite was skipped.
import { readdir } from 'node:fs/promises'

const folder = new URL('./suites/', import.meta.url)

async function main() {
  const wanted = process.argv.slice(2)
  const files = (await readdir(folder)).filter(file => file.endsWith('.mjs')).sort()
  const suites = (await Promise.all(files.map(file => import(new URL(file, folder).href)))).filter(
    ({ name }) => wanted.length === 0 || wanted.includes(name),
  )
  const rows = []
  for (const suite of suites) {
    const row = await outcomeOf(suite)
    rows.push(row)
    report(suite, row)
  }
  say('')
  for (const { name, text } of rows) say(`${name.padEnd(12)} ${text}`)
  if (rows.some(({ bad }) => bad) || rows.every(({ skipped }) => skipped)) process.exitCode = 1
}

async function outcomeOf({ name, needs, run }) {
  const missing = await needs()
  if (missing !== undefined) return { name, skipped: true, bad: false, text: `SKIPPED: ${missing}` }
  const { passed, known, failed, stale = [] } = await run()
  const total = passed + known.length + failed.length
  const bad = failed.length > 0 || stale.length > 0 || total === 0
  const parts = [
    `${bad ? 'FAILED' : 'ok'}: ${passed} of ${total} passed`,
    known.length > 0 && `${known.length} known differences`,
    failed.length > 0 && `${failed.length} failed`,
    stale.length > 0 && `${stale.length} listed as different but pass`,
    total === 0 && 'no case was found',
  ]
  return { name, skipped: false, bad, known, failed, stale, text: parts.filter(Boolean).join(', ') }
}

function report({ title }, { text, known = [], failed = [], stale = [] }) {
  say(`\n${title}\n  ${text}`)
  const reasons = Map.groupBy(known, ({ reason }) => reason)
  for (const [reason, cases] of reasons) say(`  known: ${cases.map(each => each.case).join(', ')}: ${reason}`)
  for (const each of failed) say(`  FAILED: ${each.case}: ${each.reason}`)
  for (const each of stale) say(`  STALE: ${each} is listed as a known difference and passes: take it off the list`)
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
