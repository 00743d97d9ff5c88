// Writes what a repository for pre-commit has to hold: the built CLI without scripts and dependencies. Installing it
// takes a second and no registry. This repository itself does not serve: npm prepares a git dependency that has scripts
// by installing it once more into the place that it is being installed to.
// Usage: node scripts/pre-commit-mirror.mjs DIRECTORY, then commit and tag what is there.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const [target] = process.argv.slice(2)

if (target === undefined) {
  process.stderr.write('Usage: node scripts/pre-commit-mirror.mjs DIRECTORY\n')
  process.exitCode = 2
} else {
  const { name, version, description, license, type, engines, bin } = JSON.parse(
    readFileSync(`${root}package.json`, 'utf8'),
  )
  const files = ['bin/run.js', 'bin/start.js', 'dist', 'oclif.manifest.json', 'LICENSE']
  const folder = resolve(target)
  mkdirSync(folder, { recursive: true })
  for (const file of [...files, '.pre-commit-hooks.yaml'])
    cpSync(join(root, file), join(folder, file), { recursive: true })
  const mirror = { name: `${name}-pre-commit`, version, description, license, type, engines, bin, files }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(mirror, null, 2)}\n`)
}
