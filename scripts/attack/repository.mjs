import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const GATEWAY = `binds:
- port: 3000
  listeners:
  - routes:
    - backends:
      - host: 127.0.0.1:8000
`
/** One error, with a safe fix. */
const MISSPELT = GATEWAY.replace('- host:', '- hsot:')
/** What must not be seen. */
const SECRET = 'canary-9f8e7d6c'
/** ms: no file makes a command wait. */
const LIMIT = 20_000

function git(cwd, ...args) {
  return execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], { cwd, stdio: 'pipe' })
}

/** A repository with one commit of these files. */
function committed({ folder }, files) {
  const path = folder(files)
  git(path, 'init', '-q', '-b', 'main')
  git(path, 'add', '-A')
  git(path, 'commit', '-qm', 'first')
  return path
}

/** Runs commands on it, none of which may wait. */
async function all({ cli, holds }, cwd, commands) {
  const results = []
  for (const args of commands) {
    const result = await cli(args, { cwd, limit: LIMIT })
    holds(result.code !== undefined, `gwctl ${args.join(' ')} did not end within ${LIMIT / 1000} s`)
    holds(result.code !== 4, `gwctl ${args.join(' ')} failed as a bug of ours:\n${result.stderr}`)
    results.push(result)
  }
  return results
}

const GIT_COMMANDS = [
  ['validate', 'gateway.yaml', '--since', 'HEAD'],
  ['validate', '.', '--since', 'HEAD'],
  ['diff', 'git:HEAD:gateway.yaml', 'gateway.yaml'],
]

/** A script that leaves a mark when it runs. */
function trap(folder, name = 'trap.sh') {
  const script = join(folder, name)
  const mark = join(folder, 'ran')
  writeFileSync(script, `#!/bin/sh\necho "$0 $*" >> '${mark}'\ncat\n`)
  chmodSync(script, 0o755)
  return { script, ran: () => (existsSync(mark) ? readFileSync(mark, 'utf8') : '') }
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const repository = [
  {
    name: 'A folder in the tree that git takes for a bare repository, with `core.fsmonitor`, hooks and a pager of its own',
    defends: 'git is told that only what somebody names is a bare repository, and `-c` outweighs what could run',
    async run(arena) {
      const { script, ran } = trap(arena.folder())
      const path = committed(arena, {
        'gateway.yaml': GATEWAY,
        'evil/gateway.yaml': MISSPELT,
        'evil/HEAD': 'ref: refs/heads/main\n',
      })
      const inside = join(path, 'evil')
      for (const name of ['objects', 'refs/heads', 'hooks']) mkdirSync(join(inside, name), { recursive: true })
      writeFileSync(
        join(inside, 'config'),
        `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = ${script}\npager = ${script}\n`,
      )
      const commands = [
        ['validate', 'evil', '--since', 'HEAD'],
        ['validate', 'evil/gateway.yaml', '--since', 'HEAD'],
        ['diff', 'git:HEAD:evil/gateway.yaml', 'evil/gateway.yaml'],
      ]
      await all(arena, path, commands)
      await all(arena, inside, GIT_COMMANDS)
      arena.holds(ran() === '', `commands of the repository ran: ${ran()}`)
      return `${commands.length + GIT_COMMANDS.length} commands, nothing ran`
    },
  },
  {
    name: 'A `.git/config` with `fsmonitor`, hooks, filters, text conversions, external diff, ssh, pager, credential helper, `gpg.program`, aliases and a promisor remote',
    defends:
      'git only reads objects, never the index, the working tree or the network; every program it could start is switched off',
    async run(arena) {
      const { script, ran } = trap(arena.folder())
      const path = committed(arena, {
        'gateway.yaml': GATEWAY,
        '.gitattributes': '* filter=evil diff=evil merge=evil working-tree-encoding=UTF-8\n',
      })
      const hooks = join(path, '.git', 'hooks')
      mkdirSync(hooks, { recursive: true })
      for (const hook of ['post-index-change', 'fsmonitor-watchman', 'reference-transaction', 'pre-auto-gc']) {
        writeFileSync(join(hooks, hook), `#!/bin/sh\nexec ${script} ${hook}\n`)
        chmodSync(join(hooks, hook), 0o755)
      }
      writeFileSync(join(path, 'gateway.yaml'), MISSPELT)
      const settings = `[core]\nfsmonitor = ${script}\nsshCommand = ${script}\npager = ${script}\neditor = ${script}\naskPass = ${script}\ngitProxy = ${script}\nalternateRefsCommand = ${script}
[diff]\nexternal = ${script}\n[diff "evil"]\ncommand = ${script}\ntextconv = ${script}
[filter "evil"]\nclean = ${script}\nsmudge = ${script}\nprocess = ${script}\nrequired = true
[credential]\nhelper = !${script}\n[gpg]\nprogram = ${script}\n[pager]\ndiff = ${script}\ncat-file = ${script}
[alias]\ncat-file = !${script}\nls-tree = !${script}
[protocol]\nallow = always\n[protocol "ext"]\nallow = always\n[protocol "file"]\nallow = always
[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = ext::${script} %S\nuploadpack = ${script}\nvcs = ext\n[uploadpack]\npackObjectsHook = ${script}\n`
      writeFileSync(join(path, '.git', 'config'), `[core]\nrepositoryformatversion = 1\n${settings}`)
      await all(arena, path, GIT_COMMANDS)
      // An object that is missing is what a promisor remote is asked for.
      const blob = git(path, '-c', 'core.fsmonitor=false', 'rev-parse', 'HEAD:gateway.yaml').toString().trim()
      const object = join(path, '.git', 'objects', blob.slice(0, 2), blob.slice(2))
      execFileSync('rm', ['-f', object])
      await all(arena, path, GIT_COMMANDS)
      arena.holds(ran() === '', `commands of the repository ran: ${ran()}`)
      return `${2 * GIT_COMMANDS.length} commands, nothing ran`
    },
  },
  {
    name: '`GIT_EXTERNAL_DIFF`, `GIT_SSH_COMMAND`, `GIT_CONFIG_COUNT` and their like, left over in the environment',
    defends: 'of the environment git sees only where the repository is',
    async run(arena) {
      const { script, ran } = trap(arena.folder())
      const path = committed(arena, { 'gateway.yaml': GATEWAY })
      writeFileSync(join(path, 'gateway.yaml'), MISSPELT)
      const names = [
        'GIT_EXTERNAL_DIFF',
        'GIT_SSH_COMMAND',
        'GIT_SSH',
        'GIT_PAGER',
        'GIT_ASKPASS',
        'GIT_PROXY_COMMAND',
        'GIT_EDITOR',
      ]
      const config = {
        GIT_CONFIG_COUNT: '2',
        GIT_CONFIG_KEY_0: 'core.fsmonitor',
        GIT_CONFIG_VALUE_0: script,
        GIT_CONFIG_KEY_1: 'diff.external',
        GIT_CONFIG_VALUE_1: script,
      }
      const env = { ...Object.fromEntries(names.map(name => [name, script])), ...config }
      for (const args of GIT_COMMANDS) {
        const { code } = await arena.cli(args, { cwd: path, env, limit: LIMIT })
        arena.holds(code !== undefined, `gwctl ${args.join(' ')} did not end`)
      }
      arena.holds(ran() === '', `commands of the environment ran: ${ran()}`)
      return `${names.length + 2} variables, nothing ran`
    },
  },
  {
    name: '`.gwctl.yaml` that extends a file outside of the repository, `/dev/zero`, a pipe, itself, or a link to one of them',
    defends:
      'settings are regular files of at most 1 MiB within the repository; others are named in a finding and not opened',
    async run(arena) {
      const outside = join(arena.folder({ 'secret.yaml': `rules: {${SECRET}: [\n` }), 'secret.yaml')
      const targets = [
        outside,
        '/dev/zero',
        '/proc/self/environ',
        './pipe',
        './link',
        './zero',
        '.gwctl.yaml',
        '../../../../etc/passwd',
      ]
      for (const target of targets) {
        const path = committed(arena, { 'gateway.yaml': GATEWAY, '.gwctl.yaml': `extends: ${target}\n` })
        execFileSync('mkfifo', [join(path, 'pipe')])
        symlinkSync(outside, join(path, 'link'))
        symlinkSync('/dev/zero', join(path, 'zero'))
        const [{ stdout, stderr }] = await all(arena, path, [['validate', 'gateway.yaml']])
        arena.holds(!(stdout + stderr).includes(SECRET), `extends: ${target} printed what is in it`)
        arena.holds(/GW207|GW210/.test(stdout), `extends: ${target} was taken without a word`)
        arena.holds(!stdout.includes('root:'), `extends: ${target} printed what is in it`)
      }
      return `${targets.length} of ${targets.length} refused`
    },
  },
  {
    name: 'A configuration that names a pipe, a device, a huge or an endless file, a directory or a file outside, wherever it may name a file',
    defends:
      'regular files of at most 16 MiB, within the repository unless the environment is asked for; their content is not printed',
    async run(arena) {
      const outside = join(arena.folder({ secret: `${SECRET}\n` }), 'secret')
      const fields = [
        file => `jwtAuth: {issuer: x, audiences: [x], jwks: {file: ${file}}}`,
        file => `basicAuth: {htpasswd: {file: ${file}}}`,
        file => `backendAuth: {key: {file: ${file}}}`,
        file => `backendTLS: {root: ${file}}`,
      ]
      const targets = [
        'pipe',
        '/dev/zero',
        '/dev/random',
        '/proc/self/environ',
        'huge',
        'folder',
        outside,
        'link',
        'zero',
        'circle',
        '/dev/stdin',
      ]
      let runs = 0
      for (const target of targets) {
        const files = Object.fromEntries(
          fields.map((field, i) => [`${i}.yaml`, `${GATEWAY}      policies: {${field(target)}}\n`]),
        )
        const path = committed(arena, { ...files, 'folder/x': '' })
        execFileSync('mkfifo', [join(path, 'pipe')])
        execFileSync('truncate', ['-s', '20G', join(path, 'huge')])
        symlinkSync(outside, join(path, 'link'))
        symlinkSync('/dev/zero', join(path, 'zero'))
        symlinkSync('circle', join(path, 'circle'))
        const commands = [
          ['validate', '.'],
          ['validate', '--tier', 'env', '.'],
          ['route', '-f', '2.yaml', 'http://a.test/'],
        ]
        for (const { stdout, stderr } of await all(arena, path, commands)) {
          runs++
          arena.holds(!(stdout + stderr).includes(SECRET), `the content of ${target} was printed`)
        }
      }
      return `${runs} runs, each over in time, nothing printed`
    },
  },
  {
    name: 'Inputs that are links out of the repository: files, folders, and what a directory or a glob finds',
    defends: 'a link that leads out is not followed; the failure names it, and nothing behind it is printed',
    async run(arena) {
      const away = arena.folder({ 'secret.yaml': `a: ${SECRET}: [\n`, 'x.gwtest.yaml': `${SECRET}: [\n` })
      const path = committed(arena, { 'ok.yaml': GATEWAY })
      symlinkSync(join(away, 'secret.yaml'), join(path, 'a.yaml'))
      symlinkSync(away, join(path, 'away'))
      symlinkSync('/dev/zero', join(path, 'zero.yaml'))
      symlinkSync('/proc/self/environ', join(path, 'environ.yaml'))
      symlinkSync('ok.yaml/below', join(path, 'below.yaml'))
      execFileSync('mkfifo', [join(path, 'pipe.yaml')])
      const names = [
        'a.yaml',
        'away',
        'away/secret.yaml',
        '.',
        '*.yaml',
        'zero.yaml',
        'environ.yaml',
        'pipe.yaml',
        'below.yaml',
        'below.yaml/x',
      ]
      const commands = [
        ...names.flatMap(name => [
          ['validate', name],
          ['validate', '--hook', name],
          ['validate', name, '--since', 'HEAD'],
        ]),
        ['test', 'away'],
        ['test', 'away/x.gwtest.yaml'],
        ['translate', '-f', 'a.yaml'],
        ['route', '-f', 'a.yaml', 'http://a/'],
        ['diff', 'a.yaml', 'ok.yaml'],
      ]
      for (const [i, { stdout, stderr }] of (await all(arena, path, commands)).entries()) {
        arena.holds(!(stdout + stderr).includes(SECRET), `gwctl ${commands[i].join(' ')} printed what is behind a link`)
      }
      return `${commands.length} commands, nothing printed`
    },
  },
  {
    name: 'A link out of the repository where `--fix`, `--update`, `--write-baseline` or a report is about to write',
    defends: 'nothing is written through a link that leads out',
    async run(arena) {
      const away = arena.folder({ 'fixed.yaml': MISSPELT })
      const path = committed(arena, {
        'gateway.yaml': GATEWAY,
        't.gwtest.yaml':
          'config: gateway.yaml\ncases:\n- {name: a, request: {url: http://a.test/}, expect: {status: {snapshot: true}}}\n',
      })
      symlinkSync(join(away, 'fixed.yaml'), join(path, 'a.yaml'))
      for (const name of ['report.sarif', 'baseline.json', 't.gwtest.yaml.snap'])
        symlinkSync(join(away, name), join(path, name))
      await all(arena, path, [
        ['validate', '--fix', 'a.yaml'],
        ['validate', '--fix', '.'],
        ['validate', 'gateway.yaml', '-o', 'sarif=report.sarif'],
        ['validate', 'gateway.yaml', '--write-baseline', 'baseline.json'],
        ['test', '--update', 't.gwtest.yaml'],
      ])
      arena.holds(readFileSync(join(away, 'fixed.yaml'), 'utf8') === MISSPELT, '--fix wrote through a link')
      for (const name of ['report.sarif', 'baseline.json', 't.gwtest.yaml.snap']) {
        arena.holds(
          lstatSync(join(away, name), { throwIfNoEntry: false }) === undefined,
          `${name} was written through a link`,
        )
      }
      return '5 commands, nothing written outside'
    },
  },
  {
    name: 'File names with line breaks, `::error`, `##[group]`, escape sequences, colons and commas in every report',
    defends: 'names are escaped as each format has it; none begins a line, a workflow command or a control sequence',
    async run(arena) {
      const names = [
        'a\n::error file=x::owned\n.yaml',
        '\u001b[2Jcleared.yaml',
        '::add-mask::x,y:z%0A.yaml',
        'a\r##[error]owned.yaml',
        '\u009b31m\u202e.yaml',
        '--fix.yaml',
      ]
      const path = arena.folder(Object.fromEntries(names.map(name => [name, MISSPELT])))
      git(path, 'init', '-q')
      const formats = [
        'text',
        'concise',
        'github',
        'gitlab',
        'checkstyle',
        'junit',
        'sarif',
        'json',
        'ndjson',
        'rdjson',
      ]
      for (const format of formats) {
        for (const args of [
          ['validate', '.', '-o', format],
          ['validate', '-v', '--', ...names, 'missing\n::error::x'],
        ]) {
          const { stdout, stderr } = await arena.cli(args, {
            cwd: path,
            env: { GITHUB_ACTIONS: format === 'github' ? 'true' : '' },
            limit: LIMIT,
          })
          const said = stdout + stderr
          arena.holds(
            !['\u001b', '\u009b', '\u202e', '\r'].some(char => said.includes(char)),
            `${format} lets a control character through`,
          )
          arena.holds(!/^(?:::error file=x|::error::x|##\[)/m.test(said), `${format} lets a name begin a line`)
        }
      }
      return `${formats.length} formats, ${names.length} names`
    },
  },
]
