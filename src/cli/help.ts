import type { Command } from '@oclif/core/command'
import type { Config } from '@oclif/core/config'
import { CommandHelp } from '@oclif/core/help'
import { colorLevel } from './color.ts'
import { COMMANDS } from './commands.ts'
import type { Io } from './io.ts'
import { readManifest } from './manifest.ts'
import { usageWords } from './usage.ts'

/** The output of `gwctl` alone. */
export function overview(root: URL): string {
  const { version, commands } = readManifest(root)
  const shown = Object.keys(COMMANDS).flatMap(id => commands[id] ?? [])
  const width = Math.max(...shown.map(command => command.id.length)) + 2
  const list = shown.map(command => `  ${command.id.padEnd(width)}${command.summary ?? ''}`)
  return `gwctl ${version}: one configuration for a proxy gateway, checked, run and explained.

COMMANDS
${list.join('\n')}

  gwctl COMMAND --help   examples, arguments and flags of a command
  gwctl --version        the version alone

EXIT CODES
  0 ok · 1 findings · 2 wrong usage · 3 unreadable input · 4 unreachable
  5 timed out · 70 a bug in gwctl
`
}

/** The help page of one command, wrapped to the terminal. */
export function commandHelp(id: string, root: URL, io: Io): string {
  const command = readManifest(root).commands[id]
  if (command === undefined) throw new Error(`oclif.manifest.json does not know the command ${id}`)
  const help = new ExamplesFirst(page(command), helpConfig, {
    flagSortOrder: 'none',
    // It is printed above the page.
    hideCommandSummaryInDescription: true,
    maxWidth: Math.min(io.stdout.columns ?? columnsOf(io.env) ?? 100, 120),
    stripAnsi: colorLevel(io.stdout, io.env, false) === 0,
  })
  return `${command.summary ?? ''}\n\n${help.generate()}\n`
}

/** The width reported by a shell or CI for output to a pipe. */
function columnsOf({ COLUMNS }: Io['env']): number | undefined {
  const columns = Number(COLUMNS)
  return Number.isInteger(columns) && columns >= 40 ? columns : undefined
}

/** A copy, since the layout modifies it. The manifest has everything that is shown, so the command is not loaded. */
function page(command: Command.Cached): Command.Loadable {
  return Object.assign(structuredClone(command), {
    load: () => Promise.reject(new Error('help is printed without loading the command')),
  })
}

/** Most readers come for the examples. */
class ExamplesFirst extends CommandHelp {
  protected override sections() {
    const order = ['USAGE', 'DESCRIPTION', 'EXAMPLES', 'ARGUMENTS', 'FLAGS']
    const rank = (header: string) => (order.includes(header) ? order.indexOf(header) : order.length)
    return super.sections().sort((a, b) => rank(a.header) - rank(b.header))
  }

  protected override defaultUsage(): string {
    return `<%= command.id %> ${usageWords(this.command)}`
  }

  /** The arguments' descriptions already list their values. */
  protected override args(args: Command.Arg.Any[]) {
    return super
      .args(args)
      ?.map(([left, right]) => [left, right?.replace(/^\([^)]*\|[^)]*\) /, '')] as [string, string])
  }

  /** A list of options without spaces would break in the middle of a word. */
  protected override flags(flags: Command.Flag.Any[]) {
    return super.flags(flags)?.map(([left, right]) => {
      const [, words, options] = /^(.*)\n<options: (.*)>$/s.exec(right ?? '') ?? []
      return [left, options === undefined ? right : `${words} One of ${options.replaceAll('|', ', ')}.`] as [
        string,
        string,
      ]
    })
  }

  /** The first line of a list loses its indentation, which matters if a flag has no letter. */
  override renderList(input: [string, string | undefined][], opts: Parameters<CommandHelp['renderList']>[1]): string {
    const list = super.renderList(input, opts)
    const [left = ''] = input[0] ?? []
    const alone = list.split('\n', 1)[0] === left.trim()
    return alone ? list : `${/^ */.exec(left)?.[0]}${list}`
  }

  protected override examples(examples: Command.Example[] | string | undefined): string | undefined {
    if (!Array.isArray(examples) || examples.length === 0) return undefined
    const room = this.opts.maxWidth - 2 * this.indentSpacing
    return examples
      .map(example => {
        if (typeof example === 'string') return brokenCommand(prompted(example), room)
        return `${this.wrap(example.description)}\n\n${this.indent(brokenCommand(prompted(example.command), room))}`
      })
      .join('\n\n')
  }
}

function prompted(command: string): string {
  return command.startsWith('gwctl') ? `$ ${command}` : command
}

/** Wraps a command between flags, keeping their values: it must work when pasted into a shell, quotes included. */
function brokenCommand(command: string, room: number): string {
  const lines: string[] = []
  for (const word of command.match(/(?:-\S+ (?!-))?(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []) {
    const last = lines.at(-1)
    // Two more for the continuation backslash.
    if (last !== undefined && last.length + word.length + 3 <= room) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(last === undefined ? word : `    ${word}`)
  }
  return lines.join(' \\\n')
}

/** The part of oclif's configuration that the page layout uses. */
const helpConfig = { bin: 'gwctl', topicSeparator: ' ', platform: process.platform, shell: '' } as unknown as Config
