import * as Args from '@oclif/core/args'
import { clusterChoice } from '../src/cli/cluster-flags.ts'
import { GatewayCommand } from '../src/cli/command.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { resolveFile } from '../src/cli/file-words.ts'
import { runFlags } from '../src/cli/run-flags.ts'

export default class Run extends GatewayCommand {
  static override summary = 'Serve a configuration, and reload it when the file changes.'
  static override description = 'Serves what `gwctl validate` accepts; an invalid configuration never opens a port.'
  static override examples = [
    'gwctl run -f gateway.yaml',
    { description: 'Without reloading when the file changes:', command: 'gwctl run -f gateway.yaml --no-watch' },
    { description: 'The output of another tool:', command: 'gwctl translate -f k8s/ | gwctl run -f -' },
    { description: 'The Gateways of a cluster:', command: 'gwctl run --kube --gateway-class agentgateway' },
  ]
  static override args = { path: Args.string({ ignoreStdin: true, description: 'The same as -f.' }) }
  static override flags = runFlags

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Run)
    this.obey(flags)
    const { kube, workers } = flags
    const paths = args.path === undefined ? [] : [args.path]
    const file = kube ? 'the cluster' : resolveFile(flags.file, paths, 'gwctl run -f gateway.yaml')
    const interrupted = this.io.interruption()
    const { renderText } = await import('../src/diagnostics/render/text.ts')
    const { sizeText } = await import('../src/diagnostics/size-text.ts')
    const { buildInfo } = await import('../src/cli/build-info.ts')
    const paint = await this.paint(this.io.stderr)
    const { cwd, env, stdin, stderr } = this.io
    const common = { log: stderr, version: buildInfo().version }
    const serving = kube
      ? await (await import('../src/tools/serve/cluster/serve-cluster.ts')).serveCluster(
          {
            ...common,
            ...clusterChoice(flags),
            className: flags['gateway-class'],
            gateway: flags.gateway,
            settings: flags.settings === undefined ? undefined : await this.#settings(flags.settings),
            addresses: { pool: flags['gateway-addresses'], published: flags['published-address'] },
            leaseNamespace: flags['lease-namespace'],
          },
          { cwd, env, stdin },
        )
      : await (await import('../src/tools/serve/serve.ts')).serve({
          ...common,
          file,
          cwd,
          env,
          stdin,
          watch: flags.watch,
          ...(workers === undefined ? {} : { workers }),
          refused: report => stderr.write(renderText(report, { paint, refused: true })),
        })
    if (!serving) {
      stderr.write(`gwctl run: ${file} is not served: see the findings above. No port was opened.\n`)
      return 'findings'
    }
    const held = serving.bodies === undefined ? '' : `; bodies in memory: at most ${sizeText(serving.bodies)}`
    const ports = [...serving.ports.values()].map(port => `port ${port}`).join(', ') || 'no port'
    const on = kube ? '' : ` on ${ports}`
    this.note(`Serving ${file}${on}${held}; admin server on ${serving.admin}.`)
    const stopped = new Promise<void>(resolve => {
      interrupted.addEventListener('abort', () => resolve(), { once: true })
      if (interrupted.aborted) resolve()
      void serving.quit.then(resolve)
    })
    await stopped
    this.note('Stopping: requests in flight are finished first. A second signal ends them at once.')
    await serving.stop()
    return 'ok'
  }

  async #settings(path: string) {
    const { readInput } = await import('../src/tools/input/input-files.ts')
    return readInput(path, this.io)
  }
}
