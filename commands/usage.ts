import { string } from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { outputFlag } from '../src/cli/flags.ts'
import { momentFlag } from '../src/cli/moment-flag.ts'
import { Failure } from '../src/diagnostics/failure.ts'
import { didYouMean } from '../src/diagnostics/suggest.ts'
import type { GroupName } from '../src/tools/usage/read-usage.ts'

export default class UsageCommand extends GatewayCommand {
  static override summary = 'Show the tokens and cost of LLM requests.'
  static override description =
    'Reads the request database that a configuration names with config.database, or the SQLite file itself, and adds ' +
    'up requests, tokens and cost. The gateway may be running or stopped.'
  static override examples = [
    { description: 'By model, the most expensive first:', command: 'gwctl usage gateway.yaml' },
    {
      description: 'By user and model, for the last week:',
      command: 'gwctl usage gateway.yaml --by user,model --since 168h',
    },
    {
      description: 'For a spreadsheet, from the database itself:',
      command: 'gwctl usage requests.db --by day,group -o csv',
    },
  ]
  static override args = {
    file: string({ ignoreStdin: true, description: 'Configuration, or the SQLite file of a request database.' }),
  }
  static override flags = {
    by: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME[,NAME]',
      summary: 'Group by model, provider, user, group, client, status, day or hour; model when unset.',
    }),
    since: momentFlag({ summary: 'Only requests after a time, or within this long until now.' }),
    output: outputFlag(['table', 'json', 'csv'])({ default: { format: 'table' } }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(UsageCommand)
    this.obey(flags)
    const { findDatabase } = await import('../src/tools/usage/find-database.ts')
    const { GROUP_NAMES, readUsage } = await import('../src/tools/usage/read-usage.ts')
    const { usageCsv, usageJson, usageTable } = await import('../src/tools/usage/render-usage.ts')
    if (args.file === undefined)
      throw new Failure('usage', 'A configuration or a request database is missing.', {
        help: 'For example: gwctl usage gateway.yaml',
      })
    const by = groupsOf(flags.by ?? ['model'], GROUP_NAMES)
    const usage = await readUsage(await findDatabase(args.file, this.io), { by, since: flags.since })
    const { output } = flags
    const width = output.path === undefined ? this.io.stdout.columns : undefined
    const layout = { by, paint: await this.paint(), ...(width ? { width } : {}) }
    const text = {
      table: () => usageTable(usage, layout),
      json: () => usageJson(usage, by),
      csv: () => usageCsv(usage, by),
    }
    await this.deliver(text[output.format](), output)
    return 'ok'
  }
}

function groupsOf(words: readonly string[], known: readonly GroupName[]): GroupName[] {
  const names = words.flatMap(word => word.split(',')).filter(name => name !== '')
  return [...new Set(names)].map(name => {
    const found = known.find(each => each === name)
    if (found !== undefined) return found
    const guess = didYouMean(name, known)
    throw new Failure('usage', `requests cannot be grouped by ${name}${guess ? `: ${guess}` : '.'}`, {
      help: `Groups: ${known.join(', ')}.`,
    })
  })
}
