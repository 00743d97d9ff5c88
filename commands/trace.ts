// long: one command for two sources of a trace and two ways to show it.
import { string as stringArg } from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { GatewayCommand } from '../src/cli/command.ts'
import { exitCodeOf, type Outcome } from '../src/cli/exit-codes.ts'
import { adminFlags, adminUrl, durationFlag } from '../src/cli/flags.ts'
import type { Recording } from '../src/tools/trace/recording.ts'

export default class Trace extends GatewayCommand {
  static override summary =
    'Record what happens to the next request: route, policies, backend, response, with their config lines.'
  static override description =
    'On a terminal, shows the requests that come in and every step of each (press ? for the keys). Otherwise prints one ' +
    'request as a tree, or as JSON Lines with --raw. Exits 4 when the gateway cannot be reached or the connection ' +
    'breaks, 5 when no request comes within --wait.'
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
    { description: 'What somebody recorded:', command: 'gwctl trace -f trace.jsonl' },
  ]
  static override flags = {
    raw: Flags.boolean({ summary: 'Print JSON Lines, one event per line.' }),
    where: Flags.string({
      aliases: ['expression'],
      helpValue: 'CEL',
      summary: 'Which requests: an expression over request, source and destination.',
    }),
    follow: Flags.boolean({ summary: 'More than one request; the view on a terminal always does.' }),
    limit: Flags.integer({ min: 1, max: 1000, helpValue: 'N', summary: 'Follow N requests.' }),
    for: durationFlag({ summary: 'Follow for so long, at most 1h.' }),
    wait: durationFlag({ summary: 'Give up when no request has come after so long.' }),
    file: Flags.string({
      char: 'f',
      helpValue: 'PATH',
      summary: 'Events that --raw printed instead of a running gateway; - for stdin.',
      exclusive: ['admin', 'local', 'where', 'follow', 'limit', 'for', 'wait'],
    }),
    record: Flags.string({ helpValue: 'PATH', summary: 'Also write the events to a file, for -f.' }),
    ...adminFlags,
  }
  static override args = {
    request: stringArg({
      multiple: true,
      ignoreStdin: true,
      description:
        'After --: METHOD URL and options of curl (-H, -d, --json, -u, -k, --connect-to). Sent once it is watched.',
    }),
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Trace)
    this.obey(flags)
    const { kept, liveRecording, savedRecording, traceRequest } = await import('../src/tools/trace/recording.ts')
    const words = (args.request as unknown as string[] | undefined) ?? []
    const interactive = !flags.raw && flags.file !== '-' && this.#isTerminal()
    const injected = words.length === 0 ? undefined : await this.#inject(words)
    const request = traceRequest(flags, interactive && injected === undefined, injected?.expression)
    const recording =
      flags.file === undefined
        ? await liveRecording(adminUrl(flags, this.io.env), request, flags.wait)
        : savedRecording(flags.file, this.io)
    injected?.send()
    const shown = flags.record === undefined ? recording : await kept(recording, flags.record, this.io.cwd)
    if (interactive) await this.#browse(shown)
    else await this.#write(shown, flags.raw)
    return 'ok'
  }

  async #inject(words: readonly string[]) {
    const { prepareRequest } = await import('../src/tools/trace/inject.ts')
    return prepareRequest(words, this.io.cwd, text => this.note(text))
  }

  async #browse(recording: Recording): Promise<void> {
    const { browseRecording } = await import('../src/tools/trace/interactive.ts')
    await browseRecording(recording, {
      terminal: { stdin: this.io.stdin, stdout: this.io.stdout, colors: this.colors() > 0 },
      signal: this.io.interruption(),
      codeOf: error => exitCodeOf({ error }),
      cwd: this.io.cwd,
      env: this.io.env,
    })
  }

  async #write(recording: Recording, raw: boolean): Promise<void> {
    const { rawLines, requestTrees } = await import('../src/tools/trace/output.ts')
    const unreadable = (text: string) =>
      this.note(`skipped an event that cannot be read: ${JSON.stringify(text.slice(0, 80))}`)
    const lines = raw ? rawLines(recording, unreadable) : requestTrees(recording, await this.paint(), unreadable)
    for await (const line of lines) await this.print(line)
  }

  /** A screen that can be drawn on and a keyboard; a screen reader is better off with text. */
  #isTerminal(): boolean {
    const { stdin, stdout, env } = this.io
    return stdout.isTTY === true && stdin.isTTY === true && env.TERM !== 'dumb' && env.INK_SCREEN_READER !== 'true'
  }
}
