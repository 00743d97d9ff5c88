// Holds the scripts of `gwctl completion` to what bash, zsh and fish make of them: what a person gets who types so far
// and presses Tab. Needs the shells and a build; not part of the tests.
//
//   npm run interop:completion -- [bash|zsh|fish...]
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const wanted = process.argv.slice(2)
const scratch = mkdtempSync(join(tmpdir(), 'gwctl-completion-'))
writeFileSync(join(scratch, 'some gateway.yaml'), '')
const scriptFor = shell => {
  const file = join(scratch, shell === 'zsh' ? '_gwctl' : `gwctl.${shell}`)
  writeFileSync(file, execFileSync(process.execPath, [join(root, 'bin/run.js'), 'completion', shell]))
  return file
}

/** What is typed, what has to be offered, and what must not be. */
const CASES = [
  ['gwctl ', ['validate', 'run', 'trace', 'dump', 'completion'], ['--where']],
  ['gwctl tr', ['trace', 'translate'], ['dump', 'run']],
  ['gwctl trace --', ['--where', '--raw', '--output', '--no-color', '--help'], ['--workers']],
  ['gwctl trace --wh', ['--where'], ['--wait']],
  ['gwctl trace -o ', ['text', 'raw', 'har'], ['yaml']],
  ['gwctl dump -o ', ['table', 'yaml', 'dot'], ['har']],
  ['gwctl dump ', ['routes', 'backends', 'models'], ['cpu']],
  ['gwctl profile ', ['cpu', 'heap'], ['routes']],
  ['gwctl completion ', ['bash', 'zsh', 'fish'], ['cpu']],
  ['gwctl run --no-', ['--no-watch', '--no-color'], ['--workers']],
  ['gwctl run -f some', ['some gateway.yaml'], ['validate']],
  ['gwctl validate som', ['some gateway.yaml'], ['trace']],
]

const SHELLS = {
  bash(file, typed) {
    const words = typed.split(' ')
    const script = `source ${file}
      COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
      _gwctl; printf '%s\\n' "\${COMPREPLY[@]}"`
    return run('bash', ['--norc', '--noprofile', '-c', script])
  },
  fish(file, typed) {
    const offered = run('fish', ['--no-config', '-c', `source ${file}; complete -C '${typed}'`])
    return offered
      .split('\n')
      .map(line => line.split('\t')[0].replaceAll('\\ ', ' '))
      .join('\n')
  },
  // zsh completes for a person at a terminal only: it gets one, and is asked to list all it has.
  zsh(file, typed) {
    const script = `zmodload zsh/zpty
      zpty z zsh -f -i
      zpty -w z 'PS1=; stty rows 200 columns 150; autoload -Uz compinit; compinit -u -D; source ${file}; setopt no_beep; LISTMAX=999'
      zpty -w z "zstyle ':completion:*' list-prompt ''; zstyle ':completion:*' menu no; bindkey '^X' list-choices; cd '${scratch}'; echo READY=1"
      zpty -r z line '*READY=1*READY=1*'
      zpty -w -n z '${typed}'
      zpty -w -n z $'\\x18'
      sleep 1.5
      zpty -w -n z $'\\x15'
      zpty -w z 'echo DONE=1'
      zpty -r z line '*DONE=1*'
      print -r -- "$line"
      zpty -d z`
    return stripVTControlCharacters(run('zsh', ['-f', '-c', script])).replaceAll('\\ ', ' ')
  },
}

function run(program, args) {
  const { stdout, stderr, error } = spawnSync(program, args, { cwd: scratch, encoding: 'utf8', timeout: 20_000 })
  if (error) throw error
  return stdout + stderr
}

/** As a word of its own. */
const offers = (text, word) =>
  new RegExp(`(^|[\\s,(])${word.replaceAll(/[.\\-]/g, '\\$&')}($|[\\s,)=])`, 'm').test(text)

let wrong = 0
try {
  for (const [shell, complete] of Object.entries(SHELLS)) {
    if (wanted.length > 0 && !wanted.includes(shell)) continue
    const file = scriptFor(shell)
    for (const [typed, present, absent] of CASES) {
      const shown = complete(file, typed)
      const missing = present.filter(word => !offers(shown, word))
      const surplus = absent.filter(word => offers(shown, word))
      const right = missing.length === 0 && surplus.length === 0
      console.log(`${right ? 'ok  ' : 'DIFF'} ${shell.padEnd(4)} ${typed}`)
      if (right) continue
      wrong++
      console.log(`     missing: ${missing.join(' ')}; surplus: ${surplus.join(' ')}\n${shown}`)
    }
  }
} finally {
  rmSync(scratch, { recursive: true })
}
console.log(wrong === 0 ? 'every shell completes as it should' : `${wrong} completions differ`)
process.exitCode = wrong === 0 ? 0 : 1
