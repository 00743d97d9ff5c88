import { adminServers } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import { dumpArgs, dumpFlags, dumpWords } from '../src/cli/dump-flags.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'

export default class Dump extends GatewayCommand {
  static override summary = 'Print what a gateway has loaded, or would load from a file.'
  static override description =
    'Asks the admin server for its configuration dump: binds, listeners, routes, policies and backends as they run, with ' +
    'the lines that define them. Secrets are redacted by the gateway. Exits 4 when no gateway answers, 3 when the file is not a dump.'
  static override examples = [
    { description: 'The gateway on this machine:', command: 'gwctl dump' },
    { description: 'Its backends and their health:', command: 'gwctl dump backends' },
    { description: 'Routes with a given policy:', command: `gwctl dump routes --select '"cors" in policies'` },
    {
      description: 'The policies in force on a route, with their sources:',
      command: 'gwctl dump --effective default/chat',
    },
    { description: 'The gateway in a cluster:', command: 'gwctl dump routes --kube deploy/edge -n prod' },
    { description: 'Another gateway, as JSON:', command: 'gwctl dump --admin http://10.0.0.7:15000 -o json' },
    { description: 'What a file would load, without a running gateway:', command: 'gwctl dump --config gateway.yaml' },
    { description: 'A saved dump:', command: 'gwctl dump --file dump.json --output yaml' },
  ]
  static override args = dumpArgs
  static override flags = dumpFlags

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Dump)
    this.obey(flags)
    const { fetchDump, readDump } = await import('../src/tools/config-dump/read.ts')
    const { checkWanted, print } = await import('../src/tools/dump/print.ts')
    const { printPods } = await import('../src/tools/dump/print-pods.ts')
    const { askEach } = await import('../src/tools/admin/ask-each.ts')
    const { VIEWS } = await import('../src/tools/config-dump/views.ts')
    const { output, effective, unused, select } = flags
    const words = (args.view as unknown as string[] | undefined) ?? []
    const { view, file } = dumpWords(words, flags, ['all', ...VIEWS], this.io.cwd)
    const width = output?.path === undefined ? this.io.stdout.columns : undefined
    const shown = { paint: await this.paint(), showOrigin: flags['show-origin'], ...(width ? { width } : {}) }
    const options = { ...shown, ...this.told() }
    const chosen =
      select === undefined ? {} : { select: (await import('../src/tools/dump/select.ts')).selectBy(select) }
    const wanted = { view, format: output?.format, effective, unused, ...chosen }
    checkWanted(wanted)
    const target = output ?? { format: 'yaml' }
    if (file !== undefined) {
      await this.deliver(print(await readDump(file, this.io), file, wanted, options), target)
      return 'ok'
    }
    if (flags.config !== undefined) {
      const { readConfiguration } = await import('../src/tools/dump/read-configuration.ts')
      const { buildInfo } = await import('../src/cli/build-info.ts')
      const dump = await readConfiguration(flags.config, this.io, buildInfo().version)
      await this.deliver(print(dump, flags.config, wanted, options), target)
      return 'ok'
    }
    const all = flags['all-pods']
    const { answers, failure } = await askEach(await adminServers(flags, all, this.io, this.told()), fetchDump)
    const dumps = answers.map(({ admin, value }) => ({ pod: admin.pod ?? admin.name, dump: value }))
    const text = all ? printPods(dumps, wanted, options) : print(dumps[0]!.dump, 'the answer', wanted, options)
    await this.deliver(text, target)
    if (failure) throw failure
    return 'ok'
  }
}
