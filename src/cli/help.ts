import type { Command } from '@oclif/core/command'
import type { Config } from '@oclif/core/config'
import { CommandHelp } from '@oclif/core/help'
import { colorLevel } from './color.ts'
import { COMMANDS } from './commands.ts'
import type { Io } from './io.ts'
import { readManifest } from './manifest.ts'

/** What `gwctl` alone prints. */
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

/** The page of one command, as wide as the terminal. */
export function commandHelp(id: string, root: URL, io: Io): string {
  const command = readManifest(root).commands[id]
  if (command === undefined) throw new Error(`oclif.manifest.json does not know the command ${id}`)
  const help = new ExamplesFirst(page(command), helpConfig, {
    flagSortOrder: 'none',
    // It stands above the page.
    hideCommandSummaryInDescription: true,
    maxWidth: Math.min(io.stdout.columns ?? 100, 120),
    stripAnsi: colorLevel(io.stdout, io.env, false) === 0,
  })
  return `${command.summary ?? ''}\n\n${help.generate()}\n`
}

/** A copy, since the layout writes into it; what can be shown without loading the command is all in the manifest. */
function page(command: Command.Cached): Command.Loadable {
  return Object.assign(structuredClone(command), {
    load: () => Promise.reject(new Error('help is printed without loading the command')),
  })
}

/** An example is what most readers came for. */
class ExamplesFirst extends CommandHelp {
  protected override sections() {
    const order = ['USAGE', 'DESCRIPTION', 'EXAMPLES', 'ARGUMENTS', 'FLAGS']
    const rank = (header: string) => (order.includes(header) ? order.indexOf(header) : order.length)
    return super.sections().sort((a, b) => rank(a.header) - rank(b.header))
  }

  protected override defaultUsage(): string {
    const args = Object.values(this.command.args).map(arg => {
      const name = `${arg.name.toUpperCase()}${arg.multiple ? '...' : ''}`
      return arg.required ? name : `[${name}]`
    })
    return ['<%= command.id %>', ...args, '[flags]'].join(' ')
  }
}

/** All that the page's layout asks of oclif's configuration. */
const helpConfig = { bin: 'gwctl', topicSeparator: ' ', platform: process.platform, shell: '' } as unknown as Config
