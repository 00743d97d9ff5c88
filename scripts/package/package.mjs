// npm run package: makes the package that users install.
// Usage: npm run package [-- --out FOLDER | -- --branch NAME]. Without either, gwctl-VERSION.tgz in this folder.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import * as esbuild from 'esbuild'
import { build } from '../build.mjs'
import { assemble, packageJson, root } from './assemble.mjs'

const USAGE = 'Usage: npm run package [-- --out FOLDER | -- --branch NAME]\n'

async function main() {
  const { values, problem } = options()
  if (problem !== undefined || (values.out !== undefined && values.branch !== undefined)) {
    process.stderr.write(`${problem ?? 'Either --out or --branch.'}\n${USAGE}`)
    process.exitCode = 2
  } else if (values.out !== undefined) {
    assemble(resolve(values.out), await build(esbuild))
    process.stdout.write(`Wrote ${values.out}.\n`)
  } else {
    const temporary = mkdtempSync(join(tmpdir(), 'gwctl-package-'))
    const folder = join(temporary, 'package')
    try {
      assemble(folder, await build(esbuild))
      if (values.branch === undefined) pack(folder)
      else commit(folder, join(temporary, 'index'), values.branch)
    } finally {
      rmSync(temporary, { recursive: true, force: true })
    }
  }
}

function options() {
  try {
    return parseArgs({ options: { out: { type: 'string' }, branch: { type: 'string' } } })
  } catch (error) {
    return { problem: error.message }
  }
}

function pack(folder) {
  const [{ filename, unpackedSize }] = JSON.parse(run('npm', ['pack', '--json', folder]))
  const mb = bytes => `${(bytes / 1e6).toFixed(1)} MB`
  const { size } = statSync(join(root, filename))
  process.stdout.write(`Wrote ${filename}: ${mb(size)}, ${mb(unpackedSize)} installed. npm install -g ./${filename}\n`)
}

/** The package as a commit of its own on a branch that npm and pre-commit can install from; no working tree changes. */
function commit(folder, index, branch) {
  const place = ['--git-dir', run('git', ['rev-parse', '--absolute-git-dir']), '--work-tree', folder]
  const git = (...args) => run('git', [...place, ...args], { GIT_INDEX_FILE: index })
  git('add', '--all', '--force', '--', folder)
  const tree = git('write-tree')
  const parent = existing(git, branch)
  const subject = `Package gwctl ${packageJson().version} (${run('git', ['rev-parse', '--short=12', 'HEAD'])})`
  const made = git('commit-tree', tree, '-m', subject, ...(parent === undefined ? [] : ['-p', parent]))
  git('update-ref', `refs/heads/${branch}`, made)
  process.stdout.write(`Committed to the branch ${branch}: ${subject}. npm install -g git+URL#${branch}\n`)
}

function existing(git, branch) {
  try {
    return git('rev-parse', '--quiet', '--verify', `refs/heads/${branch}`)
  } catch {
    return undefined
  }
}

function run(command, args, env = {}) {
  const options = { cwd: root, encoding: 'utf8', env: { ...process.env, ...env }, shell: process.platform === 'win32' }
  return execFileSync(command, args, options).trim()
}

await main()
