import { spawn } from 'node:child_process'
import { resolve, sep } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { Failure } from '../../diagnostics/failure.ts'
import { asFields, asItems, asList, asText, type Fields, textOf } from '../../schema/untyped.ts'
import type { ClusterPlace, KubeContext } from './kubeconfig.ts'

export interface MadeCredential {
  readonly token?: string
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** ms; a person may have to log in. */
const PATIENCE = 120_000

/** Runs a user's credential plugin (`client.authentication.k8s.io`). Its output is never quoted: it is a credential. */
export async function execCredential(context: KubeContext, place: ClusterPlace): Promise<MadeCredential> {
  const exec = asFields(context.user.exec) ?? {}
  const apiVersion = asText(exec.apiVersion) ?? ''
  if (!/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(apiVersion)) {
    throw new Failure(
      'input',
      `the plugin of context ${context.name} speaks ${apiVersion || 'no version'}, not v1 or v1beta1.`,
    )
  }
  const status = asFields(parse(await output(exec, info(exec, apiVersion, context), context, place)).status) ?? {}
  const token = asText(status.token)
  const cert = asText(status.clientCertificateData)
  const key = asText(status.clientKeyData)
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw failed(exec, context, 'returned no credential')
  }
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined ? {} : { cert: Buffer.from(cert) }),
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
  }
}

function info(exec: Fields, apiVersion: string, { cluster }: KubeContext): string {
  const spec: Record<string, unknown> = { interactive: false }
  if (exec.provideClusterInfo === true) {
    spec.cluster = {
      server: cluster.server,
      'certificate-authority-data': cluster['certificate-authority-data'],
      'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
      'tls-server-name': cluster['tls-server-name'],
    }
  }
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', spec })
}

async function output(exec: Fields, given: string, context: KubeContext, place: ClusterPlace): Promise<string> {
  const command = asText(exec.command) ?? ''
  const more = Object.fromEntries(asItems(exec.env).map(({ name, value }) => [textOf(name), textOf(value)]))
  const child = spawn(
    command.includes(sep) ? resolve(context.userFolder, command) : command,
    asList(exec.args).map(textOf),
    {
      env: { ...place.env, ...more, KUBERNETES_EXEC_INFO: given },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: PATIENCE,
    },
  )
  const ended = new Promise<number | null>((done, fail) => {
    child.on('error', fail)
    child.on('close', done)
  })
  try {
    const [text, code] = await Promise.all([readAll(child.stdout), ended])
    if (code === 0) return text
    throw failed(exec, context, code === null ? 'was ended' : `ended with ${code}`)
  } catch (error) {
    if (error instanceof Failure) throw error
    const { code } = error as NodeJS.ErrnoException
    throw failed(exec, context, code === 'ENOENT' ? 'is not installed' : `could not be run: ${code ?? 'unknown'}`)
  }
}

function failed(exec: Fields, { name }: KubeContext, what: string): Failure {
  const hint = asText(exec.installHint)
  return new Failure('unreachable', `the credential plugin ${textOf(exec.command)} of context ${name} ${what}.`, {
    ...(hint === undefined ? {} : { help: hint }),
  })
}

function parse(text: string): Fields {
  try {
    return asFields(JSON.parse(text)) ?? {}
  } catch {
    return {}
  }
}
