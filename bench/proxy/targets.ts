import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from './process.ts'
import { writeNginxProxy } from './upstream.ts'

/** One proxy to measure. */
export interface Target {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly port: number
  /** Where the same is served behind the four policies; `port` of a proxy that has none. */
  readonly guarded: number
  /** Where it is served as an LLM provider; `port` of a proxy that knows none. */
  readonly llm: number
  /** Where the same is served over TLS, HTTP/1.1 and HTTP/2. */
  readonly secure: number
  /** What every request must say for this proxy, besides what clients say anyway. */
  readonly fields: Readonly<Record<string, string>>
}

export interface TargetOptions {
  readonly folder: string
  readonly upstream: number
  /** The same in HTTP/2 without TLS. */
  readonly upstream2: number
  /** Of the service that decides and counts, and answers calls over gRPC. */
  readonly decider: number
  /** Of the server of WebSocket. */
  readonly echo: number
  /** The public system's binary. */
  readonly oracle: string | undefined
  /** The start script of Portkey's gateway. */
  readonly portkey: string | undefined
  /** The command of LiteLLM's proxy. */
  readonly litellm: string | undefined
  /** `name=command`. */
  readonly given: readonly string[]
}

/** The command line of a target by its name. Throws for a name that nobody knows. */
export async function targetNamed(name: string, options: TargetOptions): Promise<Target> {
  const { folder, upstream } = options
  const [port, guarded, secure, llm] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const env = { PORT: String(port), UPSTREAM: String(upstream) }
  const plain = { env, port, guarded: port, llm: port, secure, fields: {} }
  const node = (script: string): string[] => [process.execPath, join(import.meta.dirname, script)]
  const config = (): Promise<string> => standalone(options, name, { port, guarded, llm, secure })
  const given = options.given.find(text => text.startsWith(`${name}=`))?.slice(name.length + 1)
  if (given !== undefined) {
    const filled = given.replaceAll('{port}', String(port)).replaceAll('{upstream}', String(upstream))
    if (!filled.includes('{config}')) return { ...plain, command: filled.split(' ') }
    return { ...plain, guarded, llm, command: filled.replaceAll('{config}', await config()).split(' ') }
  }
  switch (name) {
    case 'nginx':
      return { ...plain, command: ['nginx', '-c', await writeNginxProxy(folder, { port, secure, upstream })] }
    case 'static':
      return { ...plain, command: node('static.ts') }
    case 'prototype':
      return { ...plain, command: node('prototype.ts') }
    case 'own':
      return { ...plain, command: node('front.ts') }
    case 'gwctl':
    case 'gwctl-1':
      return { ...plain, guarded, llm, command: [...node('../../bin/run.js'), 'run', '-f', await config()] }
    case 'gwctl-2':
      return {
        ...plain,
        guarded,
        llm,
        command: [...node('../../bin/run.js'), 'run', '--workers', '2', '-f', await config()],
      }
    case 'oracle':
      return { ...plain, guarded, llm, command: [options.oracle ?? '', '-f', await config()] }
    case 'portkey':
      return {
        ...plain,
        command: [process.execPath, options.portkey ?? '', `--port=${port}`, '--headless'],
        fields: {
          'x-portkey-provider': 'openai',
          'x-portkey-custom-host': `http://127.0.0.1:${upstream}/v1`,
        },
      }
    case 'litellm': {
      const path = join(folder, 'litellm.yaml')
      const params = `{model: openai/gpt-4o-mini, api_base: 'http://127.0.0.1:${upstream}/v1', api_key: test}`
      await writeFile(path, `model_list:\n- model_name: gpt-4o-mini\n  litellm_params: ${params}\n`)
      const command = [options.litellm ?? '', '--config', path, '--port', String(port), '--host', '127.0.0.1']
      return {
        ...plain,
        env: { ...env, LITELLM_LOG: 'ERROR', LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true' },
        command,
      }
    }
    default:
      throw new Error(`unknown target ${name}: give its command with --target ${name}=...`)
  }
}

/** One route to the upstream, as it is, behind four policies, and with a service that is asked about each request; one worker, no access log. */
async function standalone(
  { folder, upstream, upstream2, decider, echo }: TargetOptions,
  name: string,
  { port, guarded, llm, secure }: Readonly<Record<'port' | 'guarded' | 'llm' | 'secure', number>>,
): Promise<string> {
  const path = join(folder, `${name}.yaml`)
  const [admin, stats, readiness] = [await freePort(), await freePort(), await freePort()]
  await writeFile(
    path,
    `config:
  adminAddr: 127.0.0.1:${admin}
  statsAddr: 127.0.0.1:${stats}
  readinessAddr: 127.0.0.1:${readiness}
${name === 'gwctl-2' ? '' : '  workerThreads: 1\n'}  logging:
    level: warn
frontendPolicies:
  accessLog:
    filter: "false"
binds:
- port: ${port}
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /h2}}]
      backends: [{host: '127.0.0.1:${upstream2}', policies: {http: {version: HTTP/2.0}}}]
    - matches: [{path: {exact: /ws}}]
      backends: [{host: '127.0.0.1:${echo}'}]
    - backends:
      - host: 127.0.0.1:${upstream}
- port: ${secure}
  listeners:
  - protocol: HTTPS
    tls:
      cert: ${folder}/cert.pem
      key: ${folder}/key.pem
    routes:
    - matches: [{path: {pathPrefix: /bench.Calls}}]
      backends: [{host: '127.0.0.1:${decider}', policies: {http: {version: HTTP/2.0}}}]
    - backends:
      - host: 127.0.0.1:${upstream}
- port: ${llm}
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /converted}}]
      backends:
      - ai:
          name: converted
          provider: {anthropic: {}}
          hostOverride: 127.0.0.1:${upstream}
          pathOverride: /paced/v1/messages
    - backends:
      - ai:
          name: same
          provider: {openAI: {}}
          hostOverride: 127.0.0.1:${upstream}
- port: ${guarded}
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /authz}}]
      policies: {extAuthz: {host: '127.0.0.1:${decider}', protocol: {grpc: {}}}}
      backends: [{host: '127.0.0.1:${upstream}'}]
    - matches: [{path: {pathPrefix: /limit}}]
      policies:
        remoteRateLimit:
          host: 127.0.0.1:${decider}
          domain: bench
          descriptors: [{entries: [{key: path, value: request.path}]}]
      backends: [{host: '127.0.0.1:${upstream}'}]
    - policies:
        cors:
          allowOrigins: ["http://app.test"]
          allowMethods: [GET, POST]
          allowHeaders: ["*"]
        authorization:
          rules: ['request.method == "POST" || request.path.startsWith("/")']
        localRateLimit:
        - maxTokens: 100000000
          tokensPerFill: 100000000
          fillInterval: 1s
        requestHeaderModifier:
          set:
            x-bench: "1"
      backends:
      - host: 127.0.0.1:${upstream}
`,
  )
  return path
}
