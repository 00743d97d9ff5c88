// Tokens of Microsoft Entra ID: https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
import { readIfRegular } from '../../files/read-file.ts'
import type { Dated } from '../fresh.ts'
import { azureCliToken } from './azure-cli-login.ts'
import { type CloudContext, callCloud } from './cloud-context.ts'
import { accessTokenIn, repliedMembers } from './token-reply.ts'

export type AzureIdentity =
  | { readonly kind: 'clientSecret'; readonly tenant: string; readonly client: string; readonly secret: string }
  | { readonly kind: 'managedIdentity'; readonly user: UserAssigned }
  | { readonly kind: 'workloadIdentity' }
  /** The login of the Azure CLI. */
  | { readonly kind: 'developer' }
  /** The first one available in the environment. */
  | { readonly kind: 'implicit' }

/** Selected by one of the three; if none is set, the system-assigned identity. */
export interface UserAssigned {
  readonly clientId?: string
  readonly objectId?: string
  readonly resourceId?: string
}

/** `scope` ends with `/.default`. Throws an error without credentials. */
export function azureToken(cloud: CloudContext, identity: AzureIdentity, scope: string): Promise<Dated<string>> {
  switch (identity.kind) {
    case 'clientSecret':
      return withForm(cloud, identity.tenant, {
        grant_type: 'client_credentials',
        client_id: identity.client,
        client_secret: identity.secret,
        scope,
      })
    case 'managedIdentity':
      return managed(cloud, identity.user, scope)
    case 'workloadIdentity':
      return workload(cloud, scope)
    case 'developer':
      return developer(cloud, scope)
    case 'implicit':
      return implicit(cloud, scope)
  }
}

async function implicit(cloud: CloudContext, scope: string): Promise<Dated<string>> {
  const { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client, AZURE_CLIENT_SECRET: secret } = cloud.env
  if (tenant && client && secret) return azureToken(cloud, { kind: 'clientSecret', tenant, client, secret }, scope)
  if (tenant && client && cloud.env.AZURE_FEDERATED_TOKEN_FILE) return workload(cloud, scope)
  const user: UserAssigned = client ? { clientId: client } : {}
  if (cloud.env.IDENTITY_ENDPOINT) return managed(cloud, user, scope)
  const failures: string[] = []
  for (const attempt of [() => instanceToken(cloud, user, scope, PROBE), () => developer(cloud, scope)]) {
    try {
      return await attempt()
    } catch (error) {
      failures.push(error instanceof Error ? error.message : 'unknown failure')
    }
  }
  throw new Error(
    `no Azure credentials: no service principal or workload identity in the environment; ${failures.join('; ')}`,
  )
}

/** https://azure.github.io/azure-workload-identity/docs/ */
async function workload(cloud: CloudContext, scope: string): Promise<Dated<string>> {
  const { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client, AZURE_FEDERATED_TOKEN_FILE: file } = cloud.env
  if (!tenant || !client || !file) {
    throw new Error('an Azure workload identity needs AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE')
  }
  // Kubernetes rotates the token in the file.
  const assertion = readIfRegular(file)?.toString('utf8').trim()
  if (!assertion) throw new Error('the file of AZURE_FEDERATED_TOKEN_FILE cannot be read')
  return withForm(cloud, tenant, {
    grant_type: 'client_credentials',
    client_id: client,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
    scope,
  })
}

async function developer(cloud: CloudContext, scope: string): Promise<Dated<string>> {
  const { tenant, ...form } = azureCliToken(cloud.env)
  return withForm(cloud, tenant, { grant_type: 'refresh_token', ...form, scope })
}

function managed(cloud: CloudContext, user: UserAssigned, scope: string): Promise<Dated<string>> {
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header } = cloud.env
  return endpoint && header ? appServiceToken(cloud, user, scope, endpoint, header) : instanceToken(cloud, user, scope)
}

/** https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference */
function appServiceToken(
  cloud: CloudContext,
  { clientId, objectId, resourceId }: UserAssigned,
  scope: string,
  endpoint: string,
  header: string,
): Promise<Dated<string>> {
  if (!URL.canParse(endpoint)) throw new Error('IDENTITY_ENDPOINT is not a URL')
  const named = { client_id: clientId, object_id: objectId, mi_res_id: resourceId }
  return identityEndpointToken(cloud, endpoint, '2019-08-01', named, scope, ['x-identity-header', header])
}

/** ms: an existing service answers at once, and elsewhere nothing does. */
const PROBE = 1000

/** https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token */
function instanceToken(
  cloud: CloudContext,
  { clientId, objectId, resourceId }: UserAssigned,
  scope: string,
  timeout?: number,
): Promise<Dated<string>> {
  const host = (cloud.env.AZURE_POD_IDENTITY_AUTHORITY_HOST || 'http://169.254.169.254').replace(/\/+$/, '')
  const named = { client_id: clientId, object_id: objectId, msi_res_id: resourceId }
  const endpoint = `${host}/metadata/identity/oauth2/token`
  return identityEndpointToken(cloud, endpoint, '2018-02-01', named, scope, ['metadata', 'true'], timeout)
}

async function identityEndpointToken(
  cloud: CloudContext,
  endpoint: string,
  version: string,
  named: Readonly<Record<string, string | undefined>>,
  scope: string,
  fields: readonly string[],
  timeout?: number,
): Promise<Dated<string>> {
  const url = new URL(endpoint)
  url.searchParams.set('api-version', version)
  url.searchParams.set('resource', scope.replace(/\/\.default$/, ''))
  for (const name in named) if (named[name] !== undefined) url.searchParams.set(name, named[name])
  const now = cloud.runtime.clock.now()
  const call = { method: 'GET', url: url.href, fields, ...(timeout === undefined ? {} : { timeout }) }
  return accessTokenIn(repliedMembers(await callCloud(cloud, call), url.host), url.host, now)
}

async function withForm(
  cloud: CloudContext,
  tenant: string,
  form: Readonly<Record<string, string>>,
): Promise<Dated<string>> {
  const authority = (cloud.env.AZURE_AUTHORITY_HOST || 'https://login.microsoftonline.com').replace(/\/+$/, '')
  const url = `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`
  const now = cloud.runtime.clock.now()
  const reply = await callCloud(cloud, {
    method: 'POST',
    url,
    fields: ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'],
    body: new URLSearchParams(form).toString(),
  })
  const { host } = new URL(url)
  return accessTokenIn(repliedMembers(reply, host), host, now)
}
