// long: one command for two sources of a trace and four ways to show it.
import { string as stringArg } from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { adminFlags, adminServer, adminServers, allPodsFlag } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import { exitCodeOf, type Outcome } from '../src/cli/exit-codes.ts'
import { leadingFile } from '../src/cli/file-words.ts'
import { durationFlag, type OutputTarget, outputFlag } from '../src/cli/flags.ts'

import { Failure } from '../src/diagnostics/failure.ts'
import { plainPaint } from '../src/diagnostics/paint.ts'
import type { Recording } from '../src/tools/events/recording.ts'

const FORMATS = ['tui', 'text', 'raw', 'har', 'test'] as const
type Format = (typeof FORMATS)[number]

export default class Trace extends GatewayCommand {
  static override summary = 'Record what happens to the next request, with its config lines.'
  static override description =
    'On a terminal, shows incoming requests with every step (press ? for the keys), also after the ' +
    'gateway has restarted. Otherwise prints one request as a tree, as JSON Lines with --raw, as a case for tests with ' +
    '-o test, or as a HAR document with -o har; documents are written when the recording ends, on Ctrl-C at the ' +
    'latest. Exits 4 when the gateway cannot be reached or the connection breaks, 5 when no request comes within --wait.'
  static override examples = [
    'gwctl trace',
    { description: 'The next request as JSON Lines:', command: 'gwctl trace --raw | head' },
    {
      description: 'Twenty requests of one kind, for at most five minutes:',
      command: `gwctl trace --raw --limit 20 --for 5m --where 'request.path.startsWith("/mcp")'`,
    },
    {
      description: 'Send a request and see what happens to it:',
      command: `gwctl trace -- POST http://localhost:8080/v1 -H 'x-team: a' -d '{}'`,
    },
    { description: 'As a test case:', command: 'gwctl trace -o test=chat.gwtest.yaml' },
    { description: 'For HAR viewers, until Ctrl-C:', command: 'gwctl trace --follow -o har=trace.har' },
    { description: 'In a cluster, whichever pod gets it:', command: 'gwctl trace --kube edge -n prod --all-pods' },
    { description: 'A saved recording:', command: 'gwctl trace -f trace.jsonl' },
  ]
  static override flags = {
    raw: Flags.boolean({ summary: 'Print JSON Lines, one event per line: -o raw.', exclusive: ['output'] }),
    output: outputFlag(FORMATS)(),
    where: Flags.string({
      aliases: ['expression'],
      helpValue: 'CEL',
      summary: 'Only matching requests: an expression over request, source and destination.',
    }),
    follow: Flags.boolean({ summary: 'Record more than one request; the terminal view always does.' }),
    limit: Flags.integer({ min: 1, max: 1000, helpValue: 'N', summary: 'Stop after N requests.' }),
    for: durationFlag({ summary: 'Record for this long, at most 1h.' }),
    wait: durationFlag({ summary: 'Give up when no request has come after this long.' }),
    file: Flags.string({
      char: 'f',
      helpValue: 'PATH',
      summary: 'Read events that --raw printed instead of a running gateway; - for stdin.',
      exclusive: ['admin', 'local', 'kube', 'where', 'follow', 'limit', 'for', 'wait'],
    }),
    record: Flags.string({ helpValue: 'PATH', summary: 'Also write the events to a file, for -f.' }),
    ...adminFlags,
    'all-pods': allPodsFlag('One request, of whichever pod sees it first.', ['follow', 'limit', 'for']),
  }
  static override args = {
    request: stringArg({
      multiple: true,
      ignoreStdin: true,
      description:
        'After --: METHOD URL and options of curl (-H, -d, --json, -u, -k, --connect-to). Sent once recording has started.',
    }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Trace)
    this.obey(flags)
    const { firstRecording } = await import('../src/tools/trace/first-recording.ts')
    const { checkExpression, kept, liveRecording, savedRecording, traceRequest } = await import(
      '../src/tools/events/recording.ts'
    )
    const given = (args.request as unknown as string[] | undefined) ?? []
    // A single word that names a file is equivalent to -f: no request looks like that.
    const [named, words] = given.length === 1 && !flags.admin ? leadingFile(given, this.io.cwd) : [undefined, given]
    const file = flags.file ?? named
    const output: OutputTarget<Format> = flags.raw ? { format: 'raw' } : (flags.output ?? { format: 'tui' })
    if (output.format === 'tui' && output.path !== undefined) throw new Failure('usage', 'a view is not a file.')
    const interactive = output.format === 'tui' && file !== '-' && this.atTerminal
    const injected = words.length === 0 ? undefined : await this.#inject(words)
    const always = interactive && injected === undefined && !flags['all-pods']
    const request = traceRequest(flags, always, injected?.expression)
    await checkExpression(flags.where)
    const options = { wait: flags.wait, answered: injected?.answered, lasting: interactive }
    const recording =
      file !== undefined
        ? savedRecording(file, this.io)
        : flags['all-pods']
          ? await firstRecording(await adminServers(flags, true, this.io, this.told()), request, options)
          : await liveRecording(await adminServer(flags, this.io, this.told()), request, options)
    const { name } = recording
    // Users who send a request by hand must know when tracing has started.
    if (file === undefined && !interactive && injected === undefined) {
      this.note(`Recording ${request.follow ? 'requests' : 'the next request'} at ${name}. Ctrl-C stops.`)
    }
    injected?.send()
    const shown = flags.record === undefined ? recording : await kept(recording, flags.record, this.io.cwd)
    if (interactive) await this.#browse(shown)
    else await this.#write(shown, output)
    if (recording.name !== name) this.note(`Seen by ${recording.name}.`)
    return 'ok'
  }

  async #inject(words: readonly string[]) {
    const { prepareRequest } = await import('../src/tools/events/inject.ts')
    return prepareRequest(words, this.io.cwd, text => this.note(text))
  }

  async #browse(recording: Recording): Promise<void> {
    const { browseRecording } = await import('../src/tools/trace/interactive.ts')
    const { stdin, stdout, job } = this.io
    await browseRecording(recording, {
      terminal: { stdin, stdout, job, colors: this.colors() > 0 },
      signal: this.io.interruption(),
      codeOf: error => exitCodeOf({ error }),
      cwd: this.io.cwd,
      env: this.io.env,
    })
  }

  async #write(recording: Recording, output: OutputTarget<Format>): Promise<void> {
    const { unreadableNote } = await import('../src/tools/events/recorded-requests.ts')
    const unreadable = (text: string) => this.note(unreadableNote(text))
    if (output.format === 'har' || output.format === 'test') return this.#writeDocument(recording, output, unreadable)
    const { linesInto, rawLines, requestTrees } = await import('../src/tools/trace/output.ts')
    const lines =
      output.format === 'raw'
        ? rawLines(recording, unreadable)
        : requestTrees(recording, await (output.path === undefined ? this.paint() : plainPaint), unreadable)
    let nothing = true
    if (output.path !== undefined) nothing = !(await linesInto(lines, output.path, this.io.cwd))
    else {
      for await (const line of lines) {
        nothing = false
        await this.print(line)
      }
    }
    if (nothing) this.note('No request came.')
  }

  /** A document is complete only at the end, so a signal ends the recording, not the process. */
  async #writeDocument(recording: Recording, output: OutputTarget<Format>, unreadable: (text: string) => void) {
    const signal = this.io.interruption()
    if (signal.aborted) recording.close()
    signal.addEventListener('abort', () => recording.close())
    const { text, broken } = await this.#document(recording, output, unreadable)
    if (text !== '') await this.deliver(text, output)
    if (signal.aborted) throw signal.reason
    if (broken !== undefined) throw broken
  }

  async #document(recording: Recording, { format, path }: OutputTarget<Format>, unreadable: (text: string) => void) {
    if (format === 'test') {
      const { testDocument } = await import('../src/tools/trace/test-case.ts')
      const made = await testDocument(recording, { cwd: this.io.cwd, path }, unreadable)
      if (made.doubtful > 0)
        this.note(`May need a hand: ${made.doubtful} of the cases. The file begins with the reasons.`)
      return made
    }
    const { harDocument } = await import('../src/tools/trace/har.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    return harDocument(recording, buildInfo().version, unreadable)
  }
}
