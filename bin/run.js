#!/usr/bin/env node
// Parses on Node 12: nothing newer than that before the check, so that an old Node gets a sentence and no syntax error.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  import('./own-node.js')
    .then(({ runOnOwnNode }) => runOnOwnNode(process.argv[1]))
    .then(ran => {
      if (ran) return
      process.stderr.write(
        `gwctl needs Node.js 22.19 or newer and this is ${process.version}. ` +
          'Install a newer one, or use the one that a checkout brings: `npm ci` there once, then `npx gwctl` or an npm script.\n',
      )
      process.exitCode = 2
    })
} else if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  const { readFileSync } = process.getBuiltinModule('node:fs')
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.on('error', error => {
    if (error.code === 'EPIPE') return
    process.stderr.write(`gwctl: cannot write the output: ${error.message}.\n`)
    process.exitCode = 3
  })
  process.stdout.write(`gwctl ${version}\n`)
} else {
  import('./start.js')
}
