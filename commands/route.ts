import { dirname, resolve } from 'node:path'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { leadingFile, resolveFile } from '../src/cli/file-words.ts'
import { requestArg, requestOf } from '../src/cli/request-flags.ts'
import { clusterConfig, routeFlags } from '../src/cli/route-flags.ts'
import { Failure } from '../src/diagnostics/failure.ts'
import { plainPaint } from '../src/diagnostics/paint.ts'

const EXAMPLE = `gwctl route -f gateway.yaml POST /v1/chat/completions -H 'x-team: a' --json '{"model": "any"}'`

export default class Route extends GatewayCommand {
  static override summary = 'Explain what would happen to a request, and why. Offline.'
  static override description =
    'Runs the request through the compiled configuration with the code that serves traffic. No connection is opened: ' +
    'stubs answer for backends, and what cannot be known is printed as unknown, with what was assumed. ' +
    'Exits 0 when a backend answers or a policy does on purpose (a redirect, a direct response, a preflight), 1 when ' +
    'the request is rejected, fails or matches nothing.'
  static override examples = [
    'gwctl route -f gateway.yaml GET https://api.example.com/v1/models',
    EXAMPLE,
    {
      description: 'With claims, at a given time, with a backend down:',
      command: `gwctl route -f gateway.yaml /admin --jwt-claims '{"sub": "bob"}' --at 2026-01-01T00:00:00Z --stub openai=down`,
    },
    {
      description: 'What the replicas of a cluster do:',
      command: 'gwctl route --from-cluster -A --context staging GET https://api.example.com/v1/models',
    },
    { description: 'In a script:', command: 'gwctl route -f gateway.yaml /admin --expect 403 > /dev/null' },
    {
      description: 'A request copied from a browser as cURL:',
      command: 'gwctl route -f gateway.yaml --curl copied.sh',
    },
  ]
  static override args = { request: requestArg }
  static override flags = routeFlags

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Route)
    this.obey(flags)
    const given = (args.request as unknown as string[] | undefined) ?? []
    const named = flags['from-cluster'] ? '-' : flags.file
    const [first, words] = named === undefined ? leadingFile(given, this.io.cwd) : [named, given]
    const file = resolveFile(first, [], EXAMPLE)
    const request = await requestOf(words, flags, this.io, EXAMPLE)
    const { parseStub } = await import('../src/tools/route/parse-stub.ts')
    const { routeNotes, routeRequest } = await import('../src/tools/route/route.ts')
    const stubs = new Map((flags.stub ?? []).map(text => parseStub(text, this.io.cwd)))
    const { at: time, seed } = flags
    const told = { note: (text: string) => this.note(text), progress: (text: string) => this.progress(text) }
    const config = flags['from-cluster'] ? await clusterConfig(flags, this.io, told) : file
    const routed = await routeRequest({ config, request, time, seed, stubs }, this.io)
    if ('refused' in routed) {
      const { renderText } = await import('../src/diagnostics/render/text.ts')
      this.io.stderr.write(renderText(routed.refused, { paint: await this.paint(this.io.stderr), refused: true }))
      throw new Failure(
        'input',
        `${config === file ? file : 'the cluster'} cannot be served, so no request can come in.`,
      )
    }
    const { explanation, run } = routed
    for (const note of await routeNotes(explanation, run, flags.output.format)) this.note(note)
    const { renderRoute } = await import('../src/tools/route/render.ts')
    const paint = flags.output.path === undefined ? await this.paint() : plainPaint
    const folder = resolve(this.io.cwd, dirname(flags.output.path ?? 'here'))
    const text = await renderRoute(explanation, run, flags.output.format, {
      paint,
      allRoutes: flags['all-routes'],
      width: flags.output.path === undefined ? this.io.stdout.columns : undefined,
      place: { config: file, cwd: this.io.cwd, folder, stubs },
    })
    await this.deliver(text, flags.output)
    const { verdict, status } = explanation
    if (flags.expect === undefined) return verdict === 'reached' || verdict === 'answered' ? 'ok' : 'findings'
    if (status === flags.expect) return 'ok'
    this.note(`gwctl route: expected ${flags.expect}, got ${status ?? 'no response'}.`)
    return 'findings'
  }
}
