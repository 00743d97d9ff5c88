// Writes what a repository for pre-commit has to hold, which is the package that users install: it has the hooks in it.
// Usage: node scripts/pre-commit-mirror.mjs DIRECTORY, then commit and tag what is there.
import { resolve } from 'node:path'
import * as esbuild from 'esbuild'
import { build } from './build.mjs'
import { assemble } from './package/assemble.mjs'

const [target] = process.argv.slice(2)

if (target === undefined) {
  process.stderr.write('Usage: node scripts/pre-commit-mirror.mjs DIRECTORY\n')
  process.exitCode = 2
} else {
  assemble(resolve(target), await build(esbuild))
}
