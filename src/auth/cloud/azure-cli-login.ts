// The cached login of `az login`: a text file except on Windows. No program is started.
import { join } from 'node:path'
import { readIfRegular } from '../../files/read-file.ts'
import { membersOf } from './token-reply.ts'

/** The parts of the refresh request (RFC 6749, 6) taken from the login. */
export interface AzureCliLogin {
  readonly tenant: string
  readonly client_id: string
  readonly refresh_token: string
}

/** Throws if nobody is signed in or the cache is unreadable; the error contains no credential. */
export function azureCliToken(env: Readonly<Record<string, string | undefined>>): AzureCliLogin {
  const home = env.HOME ?? env.USERPROFILE
  const folder = env.AZURE_CONFIG_DIR ?? (home === undefined ? undefined : join(home, '.azure'))
  const text = folder && readIfRegular(join(folder, 'msal_token_cache.json'))?.toString('utf8')
  if (!text) throw new Error('not signed in: run `az login`')
  const cache = membersOf(text, 'the token cache of the Azure command line')
  const held = Object.values(record(cache.RefreshToken)).map(record)
  const login = held.find(each => typeof each.secret === 'string' && typeof each.client_id === 'string')
  if (!login) throw new Error('the token cache of the Azure command line has no login in it')
  return {
    tenant: tenantIn(folder) ?? 'organizations',
    client_id: login.client_id as string,
    refresh_token: login.secret as string,
  }
}

/** The tenant of the selected subscription. */
function tenantIn(folder: string): string | undefined {
  const text = readIfRegular(join(folder, 'azureProfile.json'))
    ?.toString('utf8')
    .replace(/^\uFEFF/, '')
  if (!text) return undefined
  const { subscriptions } = membersOf(text, 'the profile of the Azure command line')
  const all = Array.isArray(subscriptions) ? subscriptions.map(record) : []
  const tenant = (all.find(each => each.isDefault === true) ?? all[0])?.tenantId
  return typeof tenant === 'string' ? tenant : undefined
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
