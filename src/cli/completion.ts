import type { Command } from '@oclif/core/command'
import manifest from '../../oclif.manifest.json' with { type: 'json' }

interface CompletedFlag {
  readonly name: string
  readonly char: string | undefined
  readonly summary: string
  readonly takesValue: boolean
  /** Completions for its value; files if there are none. */
  readonly values: readonly string[]
}

interface CompletedCommand {
  readonly id: string
  readonly summary: string
  readonly flags: readonly CompletedFlag[]
  /** Completions for its first argument; files if there are none. */
  readonly words: readonly string[]
}

/** A completion script for one shell that contains all commands, so it never runs gwctl. */
export function completionScript(shell: 'bash' | 'zsh' | 'fish'): string {
  const commands = completedCommands()
  return shell === 'bash' ? bash(commands) : shell === 'zsh' ? zsh(commands) : fish(commands)
}

function completedCommands(): readonly CompletedCommand[] {
  const all = Object.values(manifest.commands as unknown as Readonly<Record<string, Command.Cached>>)
  return all
    .filter(({ hidden }) => hidden !== true)
    .map(({ id, summary, flags, args }) => ({
      id,
      summary: plain(summary),
      flags: [
        ...Object.values(flags).flatMap(flag => [
          completedFlag(flag),
          ...('allowNo' in flag && flag.allowNo === true
            ? [{ ...completedFlag(flag), name: `no-${flag.name}`, char: undefined }]
            : []),
        ]),
        { name: 'help', char: 'h', summary: 'Examples, arguments and flags.', takesValue: false, values: [] },
      ],
      words: Object.values(args)
        .slice(0, 1)
        .flatMap(arg => arg.options ?? listed(arg.description)),
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

function completedFlag(flag: Command.Cached['flags'][string]): CompletedFlag {
  const takesValue = flag.type === 'option'
  const values = takesValue ? (flag.options ?? listed(flag.summary)) : []
  return { name: flag.name, char: flag.char, summary: plain(flag.summary), takesValue, values: [...values] }
}

/** The words of `One of a, b, c; more.` */
function listed(text: string | undefined): readonly string[] {
  return /^One of ([\w, -]+)/.exec(text ?? '')?.[1]?.split(', ') ?? []
}

/** Removes shell syntax. */
function plain(text: string | undefined): string {
  return (text ?? '').replaceAll(/['"`$\\[\]:]/g, '').replaceAll(/\s+/g, ' ')
}

function spelled({ name, char }: CompletedFlag): string[] {
  return char === undefined ? [`--${name}`] : [`--${name}`, `-${char}`]
}

function bash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ id, flags, words }) => {
    const values = flags
      .filter(flag => flag.takesValue)
      .map(
        flag =>
          `      ${spelled(flag).join('|')}) ${flag.values.length > 0 ? `words="${flag.values.join(' ')}"` : 'files=1'} ;;`,
      )
    const offered = [...words, ...flags.flatMap(spelled)].join(' ')
    return `    ${id})
      case "$previous" in
${values.map(line => `  ${line}\n`).join('')}        *) words="${offered}"; ${words.length > 0 ? 'files=0' : 'files=1'} ;;
      esac ;;`
  })
  return `# gwctl completion for bash: source <(gwctl completion bash)
_gwctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words="" files=0
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ id }) => id).join(' ')} help --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ "$files" -eq 1 ] && [ "\${current#-}" = "$current" ]; then
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _gwctl gwctl
`
}

function zsh(commands: readonly CompletedCommand[]): string {
  const list = commands.map(({ id, summary }) => `    '${id}:${summary}'`)
  const cases = commands.map(({ id, flags, words }) => {
    const specs = flags.flatMap(flag => {
      const value = !flag.takesValue
        ? ''
        : flag.values.length > 0
          ? `:value:(${flag.values.join(' ')})`
          : ':value:_files'
      return spelled(flag).map(name => `'*${name}[${flag.summary}]${value}'`)
    })
    const rest = words.length > 0 ? `'1:word:(${words.join(' ')})'` : `'*:file:_files'`
    return `      ${id}) _arguments ${[...specs, rest].join(' ')} ;;`
  })
  return `#compdef gwctl
# gwctl completion for zsh: source <(gwctl completion zsh)
_gwctl() {
  local -a commands
  commands=(
${list.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
compdef _gwctl gwctl
`
}

function fish(commands: readonly CompletedCommand[]): string {
  const lines = [
    '# gwctl completion for fish: gwctl completion fish > ~/.config/fish/completions/gwctl.fish',
    'complete -c gwctl -e',
  ]
  for (const { id, summary, flags, words } of commands) {
    lines.push(`complete -c gwctl -n __fish_use_subcommand -f -a ${id} -d '${summary}'`)
    const when = `-n '__fish_seen_subcommand_from ${id}'`
    if (words.length > 0) lines.push(`complete -c gwctl ${when} -f -a '${words.join(' ')}'`)
    for (const { name, char, summary: about, takesValue, values } of flags) {
      const short = char === undefined ? '' : ` -s ${char}`
      const value = !takesValue ? '' : values.length > 0 ? ` -x -a '${values.join(' ')}'` : ' -r'
      lines.push(`complete -c gwctl ${when} -l ${name}${short}${value} -d '${about}'`)
    }
  }
  return `${lines.join('\n')}\n`
}
