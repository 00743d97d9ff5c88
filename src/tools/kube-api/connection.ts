import { spawn } from 'node:child_process'
import { resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { KubeConfig } from '@kubernetes/client-node'
import { cannotRead, Failure } from '../../diagnostics/failure.ts'
import { asFields, asItems, asList, asText, type Fields, textOf } from '../../schema/untyped.ts'
import type { KubeContext } from './kubeconfig.ts'

/** ms; a person may have to log in. */
const PATIENCE = 120_000

/** What the library knows of one context. Throws a Failure if it cannot be used. */
export function connectionTo(context: KubeContext): KubeConfig {
  const { name, user, namespace } = context
  const server = URL.parse(asText(context.cluster.server) ?? '')
  if (server?.protocol !== 'https:' && server?.protocol !== 'http:') {
    throw new Failure('input', `the cluster of context ${name} has no \`server\` that is an http or https URL.`)
  }
  if (user['auth-provider'] !== undefined) {
    throw new Failure('input', `the user of context ${name} has an \`auth-provider\`, which Kubernetes dropped.`, {
      help: 'Let the tool that wrote the kubeconfig write an `exec` plugin instead.',
    })
  }
  // The library would leave them out, and the calls would have more rights than they should.
  if (['as-groups', 'as-uid', 'as-user-extra'].some(field => user[field] !== undefined)) {
    throw new Failure('input', `the user of context ${name} impersonates groups, which is not supported.`, {
      help: 'Impersonation of a user (`as`) is.',
    })
  }
  const config = new KubeConfig()
  config.loadFromString(
    JSON.stringify({
      'current-context': name,
      clusters: [{ name, cluster: clusterOf(context, server) }],
      users: [{ name, user: userOf(context) }],
      contexts: [{ name, context: { cluster: name, user: name, namespace } }],
    }),
  )
  runPlugins(config)
  return config
}

/** What went wrong when credentials were loaded. Plugins print credentials, so their output is never quoted. */
export function credentialFailure(error: unknown, { name, user }: KubeContext): Failure {
  const { code, path, syscall = '' } = error as NodeJS.ErrnoException
  const exec = asFields(user.exec)
  if (exec === undefined || syscall === 'open') {
    return cannotRead(`${path ?? 'a file'}, which the kubeconfig names`, error)
  }
  const silent = error instanceof SyntaxError || error instanceof TypeError
  const what = code === 'ENOENT' ? 'is not installed' : silent ? 'returned no credential' : 'ended with an error'
  const hint = asText(exec.installHint)
  return new Failure('unreachable', `the credential plugin ${textOf(exec.command)} of context ${name} ${what}.`, {
    ...(hint === undefined ? {} : { help: hint }),
  })
}

/** The library takes plain HTTP only where no certificate is to be verified. */
function clusterOf({ cluster, clusterFolder }: KubeContext, server: URL): Fields {
  const plain = server.protocol === 'http:' ? { 'insecure-skip-tls-verify': true } : {}
  return { ...absolute(cluster, clusterFolder), ...plain }
}

function userOf({ name, cluster, user, userFolder }: KubeContext): Fields {
  const { tokenFile, exec, ...rest } = absolute(user, userFolder)
  const plugin = asFields(exec)
  return {
    ...rest,
    // As a provider, which rereads the file, since tokens of pods are renewed.
    ...(tokenFile === undefined ? {} : { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } }),
    ...(plugin === undefined ? {} : { exec: pluginOf(plugin, name, cluster, userFolder) }),
  }
}

function pluginOf(exec: Fields, context: string, cluster: Fields, folder: string): Fields {
  const command = asText(exec.command) ?? ''
  const apiVersion = asText(exec.apiVersion) ?? ''
  if (!/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(apiVersion)) {
    throw new Failure(
      'input',
      `the plugin of context ${context} speaks ${apiVersion || 'no version'}, not v1 or v1beta1.`,
    )
  }
  const told =
    exec.provideClusterInfo === true ? { cluster: Object.fromEntries(TOLD.map(key => [key, cluster[key]])) } : {}
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false, ...told } })
  return {
    ...exec,
    command: command.includes(sep) ? resolve(folder, command) : command,
    args: asList(exec.args).map(textOf),
    env: [...asItems(exec.env), { name: 'KUBERNETES_EXEC_INFO', value: info }],
  }
}

const TOLD = ['server', 'certificate-authority-data', 'insecure-skip-tls-verify', 'tls-server-name'] as const

/** The library's plugins would wait for input for ever, and nobody would see what they ask a person to do. */
function runPlugins(config: KubeConfig): void {
  const run = (command: string, args: readonly string[], options: object) =>
    Object.assign(spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'], timeout: PATIENCE }), {
      stderr: Readable.from([]),
    })
  const all = Reflect.get(config, 'authenticators') as readonly object[]
  for (const each of all) if ('execFn' in each) each.execFn = run
}

const PATHS: ReadonlySet<string> = new Set(['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'])

function absolute(fields: Fields, folder: string): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, PATHS.has(key) ? resolve(folder, textOf(value)) : value]),
  )
}
