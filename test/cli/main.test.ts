import { readdirSync } from 'node:fs'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { describe, expect, test } from 'vitest'
import { GatewayCommand } from '../../src/cli/command.ts'
import { COMMANDS, type CommandTable } from '../../src/cli/commands.ts'
import type { Outcome } from '../../src/cli/exit-codes.ts'
import { durationFlag, fileFlag, outputFlag, pathsArg } from '../../src/cli/flags.ts'
import { main } from '../../src/cli/main.ts'
import { Failure, type FailureKind } from '../../src/diagnostics/failure.ts'
import { MemoryOutput, memoryIo } from './memory-io.ts'

const root = new URL('../../', import.meta.url)

/** A command that ends as its argument says. */
class Probe extends GatewayCommand {
  static override args = { end: Args.string({ ignoreStdin: true }) }
  static override flags = {
    'fail-on': Flags.string({ options: ['error', 'warning'] }),
    output: outputFlag(['text', 'json', 'sarif'])({ default: { format: 'text' } }),
    timeout: durationFlag(),
    set: Flags.string({ helpValue: 'NAME=VALUE' }),
    file: fileFlag,
    count: Flags.integer({ min: 1, max: 9, exclusive: ['fail-on'] }),
    only: Flags.boolean({ dependsOn: ['count'] }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Probe)
    this.obey(flags)
    this.progress('working')
    this.note('a note')
    const paint = await this.paint()
    if (args.end === 'findings') return 'findings'
    if (args.end === 'crash') throw new TypeError('x is not a function\nsecond line')
    if (args.end === 'signal') {
      const signal = this.io.interruption()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    if (args.end?.startsWith('fail:')) {
      throw new Failure(args.end.slice(5) as FailureKind, 'the thing failed.', { help: 'Do this instead.' })
    }
    await this.print(`${paint.error('done')} ${JSON.stringify(flags)}\n`)
    return 'ok'
  }
}

class Variadic extends GatewayCommand {
  static override args = { paths: pathsArg }
  static override flags = { file: fileFlag }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Variadic)
    this.obey(flags)
    await this.print(JSON.stringify({ paths: args.paths, file: flags.file }))
    return 'ok'
  }
}

const commands: CommandTable = {
  probe: async () => ({ default: Probe }),
  variadic: async () => ({ default: Variadic }),
}

async function run(argv: string[], io = memoryIo()) {
  const code = await main(argv, io, root, commands)
  return { code, stdout: io.stdout.text, stderr: io.stderr.text }
}

describe('exit codes', () => {
  test.each([
    ['ok', 0],
    ['findings', 1],
    ['fail:usage', 2],
    ['fail:input', 3],
    ['fail:unreachable', 4],
    ['fail:timeout', 5],
    ['crash', 70],
    ['fail:interrupted', 130],
    ['fail:terminated', 143],
  ])('%s exits with %i', async (end, code) => {
    expect((await run(['probe', end])).code).toBe(code)
  })

  test('a signal ends a command that handles it with the code of the signal', async () => {
    const io = memoryIo()
    const ended = run(['probe', 'signal'], io)
    setImmediate(() => io.stop.abort(new Failure('terminated', 'stopped by SIGTERM')))
    expect((await ended).code).toBe(143)
  })

  test('do not depend on the output format', async () => {
    for (const format of ['text', 'json', 'sarif']) {
      expect((await run(['probe', 'findings', '-o', format])).code).toBe(1)
    }
  })

  test('a closed output pipe is not a failure', async () => {
    const io = memoryIo()
    const broken = Object.assign(new MemoryOutput(), {
      _write: (_chunk: unknown, _encoding: string, done: (error: Error) => void) =>
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    })
    const code = await main(['probe'], { ...io, stdout: broken }, root, commands)
    expect(code).toBe(0)
    expect(io.stderr.text).toBe('a note\n')
  })

  test('a full disk is a failure', async () => {
    const io = memoryIo()
    const full = Object.assign(new MemoryOutput(), {
      _write: (_chunk: unknown, _encoding: string, done: (error: Error) => void) =>
        done(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })),
    })
    expect(await main(['probe'], { ...io, stdout: full }, root, commands)).toBe(3)
    expect(io.stderr.text).toContain('cannot write the output: the disk is full.')
  })
})

describe('errors are reported once, on stderr, with a hint', () => {
  test('a failure', async () => {
    const { stdout, stderr } = await run(['probe', 'fail:input', '-q'])
    expect(stdout).toBe('')
    expect(stderr).toBe('gwctl probe: the thing failed.\nDo this instead.\n')
  })

  test('an internal error is one line, with the stack on request', async () => {
    const plain = await run(['probe', 'crash', '-q'])
    expect(plain.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(plain.stderr).toContain('internal error: x is not a function.')
    expect(plain.stderr).toContain('GWCTL_DEBUG=1')
    const debug = await run(['probe', 'crash', '-q'], memoryIo({ env: { GWCTL_DEBUG: '1' } }))
    expect(debug.stderr).toContain('main.test.ts')
  })

  test.each([
    [['prob'], 'unknown command prob: did you mean `probe`?'],
    [['constructor'], 'unknown command constructor.'],
    [['--fail-on'], 'unknown flag --fail-on.'],
    [['probe', '--fial-on', 'error'], 'unknown flag --fial-on: did you mean `--fail-on`?'],
    [['probe', '--qiuet'], 'unknown flag --qiuet: did you mean `--quiet`?'],
    [['probe', '-x'], 'unknown flag -x.'],
    [['pro\u001b[2Jbe'], 'unknown command pro␛[2Jbe.'],
    [['probe', 'ok', 'two'], 'unexpected argument: two.'],
    [['probe', 'ok', 'error'], 'unexpected argument: error: did you mean `--fail-on error`?'],
    [['probe', 'ok', 'a=b', 'two', 'error'], 'a=b two error: did you mean `--set a=b --fail-on error`?'],
    [['probe', '--fail-on', 'never'], '--fail-on takes one of error, warning, not never.'],
    [['probe', '--fail-on'], '--fail-on expects one of these values: error, warning'],
    [['probe', '--count'], '--count needs a value.'],
    [['probe', '--count', '0'], '--count: 0 is too small: at least 1.'],
    [['probe', '--count', '10'], '--count: 10 is too large: at most 9.'],
    [['probe', '--count', 'x'], '--count: x is not an integer.'],
    [['probe', '--count', '1', '--fail-on', 'error'], '--fail-on does not go with --count.'],
    [['probe', '--only'], '--only is for use with --count only.'],
    [['probe', '-o', 'serif'], 'unknown format serif: did you mean `sarif`?\nFormats: '],
    [['probe', '-o', 'json='], 'json= names no file after the equals sign.'],
    [['probe', '--timeout', '5 minutes'], '5 minutes is not a duration. Write 250ms, 30s, 5m or 1h.'],
    [['probe', '--timeout', '600h'], '600h is too long: at most 500h.'],
  ])('%j', async (argv, message) => {
    const { code, stdout, stderr } = await run(argv)
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('\n\n')
    expect(stderr).toContain(
      argv[0] === 'probe' ? 'Usage: gwctl probe [END] [flags]\nSee gwctl probe --help.' : '--help',
    )
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })
})

describe('flags', () => {
  test('an output target has a format and an optional file', async () => {
    expect((await run(['probe', '-o', 'json=a=b.json'])).stdout).toContain(
      '"output":{"format":"json","path":"a=b.json"}',
    )
  })

  test.each([
    ['250ms', 250],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['1h', 3_600_000],
  ])('%s is %i ms', async (text, ms) => {
    expect((await run(['probe', '--timeout', text])).stdout).toContain(`"timeout":${ms}`)
  })

  test('-f takes one path per use and leaves the arguments alone', async () => {
    const { stdout } = await run(['variadic', '-f', 'a', 'b', '-', '-f', 'c'])
    expect(JSON.parse(stdout)).toEqual({ paths: ['b', '-'], file: ['a', 'c'] })
  })

  test('without arguments the command does not wait for stdin', async () => {
    expect((await run(['variadic'], memoryIo({ stdin: 'never read' }))).stdout).toBe('{}')
  })
})

describe('colours and progress', () => {
  const red = '\u001B[31m'

  test.each([
    ['a pipe', {}, [], false],
    ['a terminal', { terminal: true }, [], true],
    ['a dumb terminal', { terminal: true, env: { TERM: 'dumb' } }, [], false],
    ['NO_COLOR', { terminal: true, env: { NO_COLOR: '1' } }, [], false],
    ['an empty NO_COLOR', { terminal: true, env: { NO_COLOR: '' } }, [], true],
    ['FORCE_COLOR in a pipe', { env: { FORCE_COLOR: '1' } }, [], true],
    ['FORCE_COLOR=0 on a terminal', { terminal: true, env: { FORCE_COLOR: '0' } }, [], false],
    ['NO_COLOR over FORCE_COLOR', { env: { NO_COLOR: '1', FORCE_COLOR: '1' } }, [], false],
    ['--no-color over FORCE_COLOR', { env: { FORCE_COLOR: '1' } }, ['--no-color'], false],
  ])('%s', async (_name, options, flags, colored) => {
    const { stdout } = await run(['probe', ...flags], memoryIo(options))
    expect(stdout.includes(red)).toBe(colored)
    expect(stdout).toContain('done')
  })

  test('progress is shown only on a terminal, and cleared before any other output', async () => {
    expect((await run(['probe'])).stderr).toBe('a note\n')
    const screen = await run(['probe'], memoryIo({ terminal: true }))
    expect(screen.stderr).toBe('\r\u001B[Kworking\r\u001B[Ka note\n')
    expect((await run(['probe', '-q'], memoryIo({ terminal: true }))).stderr).toBe('')
  })
})

describe('help', () => {
  const help = async (...argv: string[]) => {
    const io = memoryIo()
    const code = await main(argv, io, root)
    return { code, stdout: io.stdout.text, stderr: io.stderr.text }
  }

  test('gwctl alone lists every command', async () => {
    const { code, stdout } = await help()
    expect(code).toBe(0)
    for (const id of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^  ${id} +\\S`, 'm'))
    expect(await help('--help')).toEqual({ code: 0, stdout, stderr: '' })
  })

  test('gwctl alone fits 80 columns and lists the commands used before serving first', async () => {
    const lines = (await help()).stdout.split('\n')
    expect(lines.filter(line => line.length > 80)).toEqual([])
    const at = (id: string) => lines.findIndex(line => line.startsWith(`  ${id} `))
    const places = ['validate', 'run', 'trace', 'version'].map(at)
    expect(places[0]).toBe(3)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })

  test('prints the summary only once', async () => {
    const { stdout } = await help('log', '--help')
    expect(stdout.match(/Show or change what a running gateway logs\./g)).toHaveLength(1)
    expect(stdout).toContain('Changes last until the gateway stops')
  })

  test.each(Object.keys(COMMANDS))('%s shows examples before flags', async id => {
    const { code, stdout } = await help(id, '--help')
    expect(code).toBe(0)
    const at = (header: string) => stdout.search(new RegExp(`^${header}$`, 'm'))
    expect(at('EXAMPLES')).toBeGreaterThan(at('USAGE'))
    expect(at('FLAGS')).toBeGreaterThan(at('EXAMPLES'))
    expect((await help('help', id)).stdout).toBe(stdout)
    expect((await help(id, '-h')).stdout).toBe(stdout)
  })

  test('--help after -- is passed on as an argument', async () => {
    expect((await run(['probe', '--', '--help'])).code).toBe(0)
    expect((await run(['probe', '--', '--help'])).stdout).toContain('done')
  })
})

test('every file in commands/ is a command and every command has a file', () => {
  const files = readdirSync(new URL('commands/', root)).map(file => file.replace(/\.tsx?$/, ''))
  expect(Object.keys(COMMANDS).sort()).toEqual(files.sort())
})

test.each([
  ['+', true, 'C'],
  ['✓', true, 'C.UTF-8'],
  ['✓', true, ''],
  ['✓', false, 'C'],
])('marks match the terminal: %s (terminal: %j, LC_ALL=%s)', async (mark, terminal, locale) => {
  const io = memoryIo({ stdin: 'binds: []\n', terminal, env: { NO_COLOR: '1', LC_ALL: locale } })
  await main(['validate', '-'], io, root)
  expect(io.stdout.text).toBe(`${mark} no problems in 1 file (1 document)\n`)
})
