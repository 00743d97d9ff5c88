import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { pathsArg } from '../src/cli/flags.ts'
import type { Io } from '../src/cli/io.ts'
import { testCommand, testFlags, withTestFlagDefaults } from '../src/cli/test-flags.ts'

export default class Test extends GatewayCommand {
  static override summary = 'Run test cases: requests with their expected outcomes.'
  static override description =
    'Without --live, opens no socket and starts nothing: requests go through the compiled configuration, stubs answer ' +
    'for backends, the clock stands still. Takes *.gwtest.yaml files, directories and globs; the current directory when none is named.'
  static override examples = [
    'gwctl test',
    { description: 'Some cases, up to the first failure:', command: "gwctl test --filter 'rate' --bail" },
    {
      description: 'In CI, with reports and a minimum coverage:',
      command: 'gwctl test -o junit=test.xml --coverage=lcov --fail-under 80',
    },
    {
      description: 'The same cases against a new configuration:',
      command: 'gwctl test chat.gwtest.yaml --config next.yaml',
    },
  ]
  static override args = { paths: pathsArg }
  static override flags = testFlags

  constructor(argv: string[], io?: Io) {
    super(withTestFlagDefaults(argv), io)
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Test)
    this.obey(flags)
    const given = [...((args.paths as unknown as string[] | undefined) ?? []), ...(flags.file ?? [])]
    const paths = given.length > 0 ? given : ['.']
    const { test } = await import('../src/tools/test/test.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const command = Object.assign(testCommand(flags, this.io, flags.verbose), {
      paint: await this.paint(),
      notePaint: await this.paint(this.io.stderr),
      tool: { name: 'gwctl', version: buildInfo().version },
      progress: (text: string) => this.progress(text),
    })
    const printer = {
      deliver: (text: string, target: { path?: string }) => this.deliver(text, { format: '', ...target }),
      note: (text: string) => this.note(text),
    }
    if (flags.watch) {
      const { watchTests } = await import('../src/tools/test/watch-tests.ts')
      const again = async () => {
        if (this.io.stdout.isTTY) await this.print('\u001B[2J\u001B[3J\u001B[H')
      }
      return watchTests(paths, command, printer, { stop: this.io.interruption(), again })
    }
    return OUTCOMES[await test(paths, command, printer)]
  }
}

const OUTCOMES = { passed: 'ok', failed: 'findings', broken: 'usage' } as const
