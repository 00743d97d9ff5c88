import { Failure } from '../../diagnostics/failure.ts'
import { watchInputs } from '../check/watch.ts'
import { readInputFile } from '../input/input-files.ts'
import { findTests } from './find-tests.ts'
import { readTestFile } from './read-test-file.ts'
import { type TestCommand, type TestPrinter, test } from './test.ts'
import { pathOf } from './tested-config.ts'

interface Watching {
  readonly stop: AbortSignal
  /** Called before each run. */
  again(): Promise<void>
}

/**
 * Runs now and after each change of the tests or their configurations, until the stop signal, whose reason is thrown.
 * Throws a Failure `usage` for stdin.
 */
export async function watchTests(
  paths: readonly string[],
  command: TestCommand,
  to: TestPrinter,
  { stop, again }: Watching,
): Promise<never> {
  if (paths.includes('-') || command.config === '-') {
    throw new Failure('usage', 'stdin cannot be watched.', { help: 'Name files or directories with --watch.' })
  }
  const written = [...command.outputs, ...command.coverage].map(({ path }) => path)
  await watchInputs(paths, { cwd: command.cwd, stop, written }, async watchInstead => {
    await again()
    await reportFailure(to, async () => {
      watchInstead([...paths, ...(await configsOf(paths, command))])
      await test(paths, command, to)
    })
    to.note('Waiting for changes. Ctrl-C stops.')
  })
  throw stop.reason
}

/** There may be nothing to run yet, or unreadable files: that is reported, and the next change may fix it. */
async function reportFailure(to: TestPrinter, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'input') throw error
    to.note([error.message, error.help].filter(Boolean).join('\n'))
  }
}

/** The configurations of the current test files. */
async function configsOf(paths: readonly string[], command: TestCommand): Promise<readonly string[]> {
  if (command.config !== undefined) return [command.config]
  const found = new Set<string>()
  for (const input of findTests(paths, command)) {
    const text = await readInputFile(input, command).then(
      read => read.text,
      () => '',
    )
    const config = readTestFile({ file: input.file, text }).read?.content.config
    if (config !== undefined) found.add(pathOf(config, input.file))
  }
  return [...found]
}
