// npm run interop:pre-commit [-- --record] [VERSION...]: does the real pre-commit install and run the hooks, from a
// clone of this repository (its HEAD) and from the package, on the Node.js of the system and on that of the checkout?
// Needs git, Python with venv, and the registries of pip and npm. With --record the outcome goes into docs/interop.md.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { replaceSection } from './section.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const DEFAULT_VERSIONS = ['4.7.0', '3.2.0']
const WRONG = 'binds:\n- port: 3000\n  listeners:\n  - routes:\n    - backends:\n      - hsot: 127.0.0.1:8000\n'
const OLD_NODE = 'gwctl needs Node.js 22.19 or newer'
const FINDING = 'gw.yaml:6:9: error GW102 unknown field `hsot` in backend'

async function main() {
  const versions = process.argv.slice(2).filter(word => /^\d/.test(word))
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-pre-commit-'))
  try {
    const rows = []
    const repositories = { clone: clone(folder), package: packageRepository(folder) }
    for (const version of versions.length > 0 ? versions : DEFAULT_VERSIONS) {
      const program = install(folder, version)
      for (const [source, repository] of Object.entries(repositories)) {
        for (const path of [systemPath(), process.env.PATH]) {
          rows.push({ version, source, ...tryHook(folder, program, source, repository, path) })
          const { node, outcome, problem } = rows.at(-1)
          console.log(`pre-commit ${version}, ${source}, Node.js ${node} on the PATH: ${problem ?? outcome}`)
        }
      }
    }
    if (rows.some(({ problem }) => problem !== undefined)) process.exitCode = 1
    else if (process.argv.includes('--record')) {
      await replaceSection(`${root}docs/interop.md`, 'pre-commit', 'npm run interop:pre-commit -- --record', text(rows))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Without what an npm script puts in front: the Node.js that a user's shell would find. */
function systemPath() {
  return process.env.PATH.split(delimiter)
    .filter(place => !/node_modules|node-gyp-bin/.test(place))
    .join(delimiter)
}

function clone(folder) {
  const target = join(folder, 'clone')
  run('git', ['clone', '--quiet', root, target])
  run('git', ['-C', target, 'tag', '--force', 'tried'])
  return target
}

function packageRepository(folder) {
  const target = join(folder, 'package')
  run(process.execPath, [`${root}scripts/pre-commit-mirror.mjs`, target])
  run('git', ['-C', target, 'init', '--quiet'])
  run('git', ['-C', target, 'add', '--force', '.'])
  run('git', ['-C', target, '-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '--quiet', '-m', 'x'])
  run('git', ['-C', target, 'tag', 'tried'])
  return target
}

function install(folder, version) {
  const place = join(folder, `pre-commit-${version}`)
  run('python3', ['-m', 'venv', place])
  // The old ones take pkg_resources for granted, which later releases of setuptools lack.
  run(join(place, 'bin/pip'), ['install', '--quiet', `pre-commit==${version}`, 'setuptools<81'])
  return join(place, 'bin/pre-commit')
}

/**
 * A mistake has to stop the commit with its line, and the corrected file has to pass. The package brings no Node.js: on
 * one that is too old it has to say so.
 */
function tryHook(folder, program, source, repository, path) {
  const work = mkdtempSync(join(folder, 'work-'))
  const env = { ...process.env, PATH: path, PRE_COMMIT_HOME: join(work, 'home') }
  for (const name of Object.keys(env)) if (/^npm_/i.test(name)) delete env[name]
  const [node, runtime] = execFileSync('node', ['-p', 'process.versions.node + " " + process.execPath'], {
    env,
    encoding: 'utf8',
  })
    .trim()
    .split(/ (.*)/)
  // Where a distribution has a `nodejs`, pre-commit takes that one, whatever `node` is.
  const bin = join(work, 'bin')
  mkdirSync(bin)
  for (const name of ['node', 'nodejs']) symlinkSync(runtime, join(bin, name))
  env.PATH = bin + delimiter + path
  const project = join(work, 'project')
  run('git', ['init', '--quiet', project])
  const hooks = [`repos:`, `- repo: ${repository}`, '  rev: tried', '  hooks:', '  - id: gwctl-validate', '']
  writeFileSync(join(project, '.pre-commit-config.yaml'), hooks.join('\n'))
  const commit = content => {
    writeFileSync(join(project, 'gw.yaml'), content)
    run('git', ['-C', project, 'add', '.'])
    const { status, stdout, stderr } = spawnSync(program, ['run'], { cwd: project, env, encoding: 'utf8' })
    return { status, text: stdout + stderr }
  }
  const refused = commit(WRONG)
  const [major, minor] = node.split('.').map(Number)
  if (source === 'package' && (major < 22 || (major === 22 && minor < 19))) {
    const told = refused.status === 1 && refused.text.includes(OLD_NODE)
    return { node, outcome: 'says that it needs a newer Node.js', problem: told ? undefined : refused.text }
  }
  if (refused.status !== 1 || !refused.text.includes(FINDING)) return { node, outcome: 'fails', problem: refused.text }
  const passed = commit(WRONG.replace('hsot', 'host'))
  return { node, outcome: 'works', problem: passed.status === 0 ? undefined : passed.text }
}

function run(command, args) {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

function text(rows) {
  const lines = rows.map(({ version, source, node, outcome }) => `| ${version} | ${source} | ${node} | ${outcome} |`)
  return `## pre-commit

\`npm run interop:pre-commit\` installs the hook \`gwctl-validate\` with the real program, commits a file with a mistake, which is refused with its line, and then the corrected one, which passes:

| pre-commit | \`repo:\` | Node.js on the PATH | Outcome |
|---|---|---|---|
${lines.join('\n')}
`
}

await main()
