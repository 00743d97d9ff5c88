// Writes what a repository for pre-commit has to hold: the built CLI without scripts and with one kind of dependency,
// the Node.js to run on, which is optional: where no registry answers, a recent Node.js on the PATH does. It starts
// faster than this repository itself, which has to run from its sources when npm installs it.
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
  const { name, version, description, license, type, engines, bin, optionalDependencies } = JSON.parse(
    readFileSync(`${root}package.json`, 'utf8'),
  )
  const files = [
    'bin/run.js',
    'bin/start.js',
    'bin/kept-script.js',
    'bin/own-node.js',
    'dist',
    'oclif.manifest.json',
    'LICENSE',
  ]
  const folder = resolve(target)
  mkdirSync(folder, { recursive: true })
  for (const file of [...files, '.pre-commit-hooks.yaml'])
    cpSync(join(root, file), join(folder, file), { recursive: true })
  const mirror = {
    name: `${name}-pre-commit`,
    version,
    description,
    license,
    type,
    engines,
    bin,
    files,
    optionalDependencies,
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(mirror, null, 2)}\n`)
}
