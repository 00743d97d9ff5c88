import { cannotWrite, Failure } from '../diagnostics/failure.ts'
import { visible } from '../diagnostics/visible.ts'
import { COMMANDS, type CommandTable } from './commands.ts'
import { type Ending, exitCodeOf } from './exit-codes.ts'
import { type Io, type Output, processIo, write } from './io.ts'
import { asUsageFailure, unknownCommand } from './usage.ts'

/** The process's entry point: runs the command line and exits with its code. */
export async function start(root: URL): Promise<void> {
  const io = processIo()
  // oclif also throws errors of stdout (a full disk), which `main` already reports.
  const ofStdout = new WeakSet<Error>()
  io.stdout.on('error', error => ofStdout.add(error))
  const crash = (error: unknown) => {
    if (!(error instanceof Error && ofStdout.has(error))) process.exit(report({ error }, 'gwctl', io))
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
  const code = await main(process.argv.slice(2), io, root)
  await Promise.all([flushed(io.stdout), flushed(io.stderr)])
  process.exit(code)
}

/** Runs one command line and returns its exit code. `root` is the package's directory, with the manifest. */
export async function main(argv: readonly string[], io: Io, root: URL, commands: CommandTable = COMMANDS) {
  const [id = '', ...rest] = argv
  const load = Object.hasOwn(commands, id) ? commands[id] : undefined
  const work = load !== undefined && !asksForHelp(rest) ? run(load, id, rest, io) : guide(argv, io, root, commands)
  const ending = await Promise.race([readerGone(io), work.then(outcome => ({ outcome }), thrown)])
  return report(ending, load === undefined ? 'gwctl' : `gwctl ${id}`, io)
}

async function run(load: CommandTable[string], id: string, argv: readonly string[], io: Io) {
  const { default: CommandType } = await load()
  try {
    return await new CommandType([...argv], io).run()
  } catch (error) {
    throw asUsageFailure(error, id, CommandType)
  }
}

/** Handles everything but commands: the overview, help, and misspelt command names. */
async function guide(argv: readonly string[], io: Io, root: URL, commands: CommandTable): Promise<'ok'> {
  const { commandHelp, overview } = await import('./help.ts')
  const { drawable } = await import('../diagnostics/ascii.ts')
  const words = argv.filter(word => !HELP_WORDS.has(word))
  const id = words[0]
  if (id === undefined) {
    await write(io.stdout, drawable(overview(root), io.stdout, io.env))
  } else if (Object.hasOwn(commands, id)) {
    await write(io.stdout, drawable(commandHelp(id, root, io), io.stdout, io.env))
  } else if (id === '--version' || id === '-V') {
    const { buildInfo } = await import('./build-info.ts')
    await write(io.stdout, `gwctl ${buildInfo().version}\n`)
  } else {
    throw unknownCommand(id, Object.keys(commands))
  }
  return 'ok'
}

const HELP_WORDS: ReadonlySet<string> = new Set(['help', '--help', '-h'])

function asksForHelp(argv: readonly string[]): boolean {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  return own.includes('--help') || own.includes('-h')
}

/** Resolves when the reader of our output has closed it; never rejects. */
function readerGone(io: Io): Promise<Ending> {
  return new Promise(resolve => {
    io.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') resolve({ outcome: 'readerGone' })
      else resolve({ error: cannotWrite('the output', error) })
    })
    // There is nowhere left to report it.
    io.stderr.on('error', () => resolve({ outcome: 'readerGone' }))
  })
}

function thrown(error: unknown): Ending {
  return { error }
}

/** Prints the error, if any, and decides the code. */
function report(ending: Ending, name: string, io: Io): number {
  if ('error' in ending) io.stderr.write(`${name}: ${describe(ending.error, io.env.GWCTL_DEBUG === '1')}\n`)
  return exitCodeOf(ending)
}

function describe(error: unknown, debug: boolean): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  if (error instanceof Failure) {
    const text = error.help === undefined ? error.message : `${error.message}\n${error.help}`
    // It may quote untrusted text: a flag's value, a server's message.
    const shown = text.split('\n').map(visible).join('\n')
    return debug ? `${shown}\n${stack}` : shown
  }
  if (debug) return `internal error: ${stack}`
  const message = (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]
  return `internal error: ${message}. This is a bug in gwctl: run again with GWCTL_DEBUG=1 for the stack, and report it with what \`gwctl version\` prints.`
}

function flushed(stream: Output): Promise<void> {
  return new Promise(resolve => {
    stream.write('', () => resolve())
  })
}
