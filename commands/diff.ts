import { string as stringArg } from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { adminFlags, adminServer } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { outputFlag } from '../src/cli/flags.ts'
import { plainPaint } from '../src/diagnostics/paint.ts'

const SIDE = 'A file, a directory of resources, a saved dump, live, git:REVISION:PATH, or - for stdin.'

export default class Diff extends GatewayCommand {
  static override summary = 'Compare two configurations: objects, and requests that notice.'
  static override description =
    'Compiles both as `gwctl run` does and compares what comes of it: comments, the order of keys and defaults that are ' +
    'written out make no difference. Each value is shown with its line, secrets are not. Then runs requests that are made ' +
    'up from both sides through both, without a socket, and shows those that end differently. Exits 1 when something differs.'
  static override examples = [
    'gwctl diff config.yaml new.yaml',
    { description: 'What is about to be committed:', command: 'gwctl diff git:HEAD config.yaml' },
    { description: 'What a gateway runs and the file does not say:', command: 'gwctl diff live config.yaml' },
    { description: 'What it means for recorded requests:', command: 'gwctl diff a.yaml b.yaml --requests trace.jsonl' },
    { description: 'For a comment on a pull request:', command: 'gwctl diff git:origin/main k8s/ -o markdown' },
  ]
  static override args = {
    before: stringArg({ required: true, ignoreStdin: true, description: SIDE }),
    after: stringArg({
      required: true,
      ignoreStdin: true,
      description: 'The same. git:REVISION alone means the path of the other side.',
    }),
  }
  static override flags = {
    output: outputFlag(['text', 'json', 'markdown', 'github'])({ default: { format: 'text' } }),
    structural: Flags.boolean({ summary: 'Compare the objects only; run no requests.' }),
    requests: Flags.string({
      helpValue: 'PATH',
      summary: 'Run recorded requests instead: events of `gwctl trace --raw`, or HAR; - for stdin.',
      exclusive: ['structural'],
    }),
    limit: Flags.integer({
      min: 1,
      helpValue: 'N',
      summary: 'Try at most N requests; 5000 when unset.',
      exclusive: ['structural', 'requests'],
    }),
    partial: Flags.boolean({ summary: 'Names of resources that are not there are taken to exist elsewhere.' }),
    ...adminFlags,
  }

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Diff)
    this.obey(flags)
    const { diff, differs } = await import('../src/tools/diff/diff.ts')
    const { renderDiff } = await import('../src/tools/diff/render.ts')
    const { cwd, env } = this.io
    const io = this.io
    const found = await diff([args.before, args.after], {
      cwd,
      env,
      get stdin() {
        return io.stdin
      },
      partial: flags.partial,
      witness: !flags.structural,
      ...(flags.requests === undefined ? {} : { requests: flags.requests }),
      ...(flags.limit === undefined ? {} : { limit: flags.limit }),
      progress: text => this.progress(text),
      admin: () => adminServer(flags, io, this.told()),
    }).finally(() => this.clearProgress())
    for (const note of found.notes) this.note(note)
    const { format, path } = flags.output
    const view = path === undefined ? { paint: await this.paint(), width: io.stdout.columns } : { paint: plainPaint }
    await this.deliver(renderDiff(found, format, view), flags.output)
    return differs(found) ? 'findings' : 'ok'
  }
}
