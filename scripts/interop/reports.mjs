// Reports of the built command line for the schemas of their formats: over every fixture with a mistake, and of tests.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What is missing for them; undefined when nothing is. */
export function missingBuild() {
  return existsSync(`${root}dist/cli.js`) ? undefined : 'gwctl is not built: run `npm run bundle`'
}

/** Name and text of each report in a format. */
export function reportsIn(format) {
  const validated = ['fixtures/err', 'fixtures/ok', 'examples'].map(folder => ['validate', folder, '-o', format])
  const tested = format === 'junit' ? [['test', 'examples/quickstart.gwtest.yaml', '-o', format]] : []
  return [...validated, ...tested].map(args => ({ name: args.join(' '), text: gwctl(args) }))
}

function gwctl(args) {
  try {
    return execFileSync(process.execPath, ['bin/run.js', ...args], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      stdio: 'pipe',
    })
  } catch (error) {
    // Findings are exit code 1.
    if (error.status === 1) return error.stdout
    throw error
  }
}
