// The token of the local GitHub login, which Copilot's API accepts directly.
import { join } from 'node:path'
import { readIfRegular } from '../../files/read-file.ts'
import type { Target } from '../../http/transport.ts'
import { type Dated, Fresh } from '../fresh.ts'
import { bearerSigner } from './bearer-signer.ts'
import type { CloudContext } from './cloud-context.ts'
import { membersOf, tokenText } from './token-reply.ts'

/** Adds the token to outgoing requests, and the client identification that the service requires. */
export function copilotSigner({ runtime, env }: CloudContext): NonNullable<Target['sign']> {
  const held = runtime.state.get('Copilot token', () => new Fresh<string>(runtime.clock))
  const withToken = bearerSigner(() => held.get(async () => copilotToken(env, runtime.clock.now())))
  return async (request, target) => {
    const signed = await withToken(request, target)
    for (const name in CALLER) if (!signed.headers.has(name)) signed.headers.append(name, CALLER[name] as string)
    return signed
  }
}

const CALLER: Readonly<Record<string, string>> = {
  'editor-version': 'gwctl/1.0',
  'x-github-api-version': '2025-10-01',
  'x-initiator': 'agent',
  'x-interaction-type': 'conversation-agent',
  'openai-intent': 'conversation-agent',
}

/** ms before the files are read again: signing in again changes them. */
const FILE_AGE = 10_000

function copilotToken(env: CloudContext['env'], now: number): Dated<string> {
  const given = env.GH_COPILOT_TOKEN?.trim() || env.COPILOT_GITHUB_TOKEN?.trim()
  const token = given || fromFiles(env)
  if (!token) {
    throw new Error(
      'no Copilot token: set GH_COPILOT_TOKEN, or sign in with GitHub Copilot or with the GitHub command line (`gh`)',
    )
  }
  return { value: tokenText(token, 'the login of GitHub'), expiresAt: given ? undefined : now + FILE_AGE }
}

function fromFiles(env: CloudContext['env']): string | undefined {
  const folder = env.XDG_CONFIG_HOME ?? env.APPDATA ?? (env.HOME ? join(env.HOME, '.config') : undefined)
  if (folder === undefined) return undefined
  const read = (...path: string[]) => readIfRegular(join(folder, ...path))?.toString('utf8')
  return (
    inJson(read('github-copilot', 'hosts.json')) ??
    inJson(read('github-copilot', 'apps.json')) ??
    inYaml(read('gh', 'hosts.yml'))
  )
}

/** `github.com`, or `github.com:` and an application id. */
const DOMAIN = /^github\.com(?::|$)/

function inJson(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  for (const [host, login] of Object.entries(membersOf(text, 'the login of GitHub Copilot'))) {
    const token = DOMAIN.test(host) ? (login as { oauth_token?: unknown } | null)?.oauth_token : undefined
    if (typeof token === 'string' && token.trim() !== '') return token.trim()
  }
  return undefined
}

/** Generated files only: one setting per line, indented under its host. */
function inYaml(text: string | undefined): string | undefined {
  let within = false
  for (const line of text?.split(/\r?\n/) ?? []) {
    if (/^\S/.test(line)) within = /^["']?github\.com["']?:/.test(line)
    const token = within ? /^\s+oauth_token:\s*["']?([^"'\s#]+)/.exec(line)?.[1] : undefined
    if (token !== undefined) return token
  }
  return undefined
}
