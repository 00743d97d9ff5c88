// npm run interop:auth [-- --record]: the programs that others use decide, count and sign in. With `--record` the result
// goes into docs/interop.md. Installs what it needs into a temporary folder, and says what it skips. Needs a build and
// Go; for the rest see `needs`. Not part of the tests.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as clouds from './auth/clouds.mjs'
import * as envoy from './auth/envoy.mjs'
import * as limits from './auth/limits.mjs'
import * as mcpSignIn from './auth/mcp-sign-in.mjs'
import { openPlace } from './auth/place.mjs'
import * as signIn from './auth/sign-in.mjs'
import { replaceSection } from './section.mjs'

const record = process.argv.includes('--record')
const lines = []
let failures = 0
for (const part of [envoy, limits, signIn, mcpSignIn, clouds]) {
  const missing = await part.needs?.()
  if (missing !== undefined) say(`- ${part.title}: not run, ${missing}`)
  else await runPart(part)
}
if (record && failures === 0) {
  const text = `## Services that decide, count and sign in\n\n\`npm run interop:auth\`:\n\n${lines.join('\n')}\n`
  const root = fileURLToPath(new URL('../../', import.meta.url))
  await replaceSection(join(root, 'docs/interop.md'), 'envoy', 'npm run interop:auth -- --record', text)
}
process.exitCode = failures === 0 ? 0 : 1

async function runPart(part) {
  const place = await openPlace()
  try {
    const checks = Object.entries(await part.run(place))
    const failed = []
    for (const [what, holds] of checks) {
      const good = await holds().catch(error => {
        process.stderr.write(`${what}: ${error.message}\n`)
        return false
      })
      if (!good) failed.push(what)
    }
    failures += failed.length
    say(`- ${part.title}: ${checks.length - failed.length} of ${checks.length} checks`)
    for (const [what] of checks) say(`  - ${what}${failed.includes(what) ? ': FAILED' : ''}`)
    for (const what of (await part.leftOut?.()) ?? []) say(`  - not run: ${what}`)
  } finally {
    await place.close()
  }
}

function say(line) {
  lines.push(line)
  process.stdout.write(`${line}\n`)
}
