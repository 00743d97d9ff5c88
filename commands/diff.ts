import { adminServer } from '../src/cli/admin-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import { diffArgs, diffFlags, sidesOf } from '../src/cli/diff-flags.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { plainPaint } from '../src/diagnostics/paint.ts'

export default class Diff extends GatewayCommand {
  static override summary = 'Compare two configurations: objects, and affected requests.'
  static override description =
    'Compiles both as `gwctl run` does and compares the results: comments, the order of keys and defaults that are ' +
    'written out make no difference. Each value is shown with its line; secrets are not shown. Then runs requests made ' +
    'up from both sides through both, without a socket, and shows those with different outcomes. Exits 1 when something differs.'
  static override examples = [
    'gwctl diff config.yaml new.yaml',
    { description: 'Uncommitted changes:', command: 'gwctl diff git:HEAD config.yaml' },
    { description: 'A running gateway against the file:', command: 'gwctl diff live config.yaml' },
    { description: 'The effect on recorded requests:', command: 'gwctl diff a.yaml b.yaml --requests trace.jsonl' },
    { description: 'For a comment on a pull request:', command: 'gwctl diff git:origin/main k8s/ -o markdown' },
  ]
  static override args = diffArgs
  static override flags = diffFlags

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Diff)
    this.obey(flags)
    const sides = sidesOf([args.before, args.after], flags.file)
    const { diff, differs } = await import('../src/tools/diff/diff.ts')
    const { renderDiff } = await import('../src/tools/diff/render.ts')
    const { cwd, env } = this.io
    const io = this.io
    const found = await diff(sides, {
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
