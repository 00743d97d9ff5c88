// What the clouds' own SDKs ask for a token, and how they sign: started where they are installed. Reads a line of JSON,
// `{ask, at, more}`, and answers with one.
import { createInterface } from 'node:readline'
import { Sha256 } from '@aws-crypto/sha256-js'
import { ClientSecretCredential, ManagedIdentityCredential, WorkloadIdentityCredential } from '@azure/identity'
import { HttpRequest } from '@smithy/protocol-http'
import { SignatureV4 } from '@smithy/signature-v4'
import { ExternalAccountClient, GoogleAuth, JWT } from 'google-auth-library'

const ENTRA = { disableInstanceDiscovery: true, retryOptions: { maxRetries: 0 } }
const asks = {
  /** The `authorization` field for a request as it came. */
  async sign({ method, url, headers, body, keys, region, service }) {
    const { authorization, ...all } = headers
    const signed = new Set(/SignedHeaders=([^,]+)/.exec(authorization)?.[1].split(';'))
    const [path, search = ''] = url.split('?')
    const query = {}
    for (const pair of search.split('&').filter(each => each !== '')) {
      const [name, value = ''] = pair.split('=').map(decodeURIComponent)
      query[name] = [...(query[name] ?? []), value]
    }
    const kept = Object.fromEntries(Object.entries(all).filter(([name]) => signed.has(name)))
    const credentials = { accessKeyId: keys[0], secretAccessKey: keys[1], sessionToken: keys[2] }
    const signer = new SignatureV4({ credentials, region, service, sha256: Sha256, applyChecksum: false })
    const request = new HttpRequest({ method, hostname: all.host, path, query, headers: kept, body })
    const stamp = all['x-amz-date'].replace(/^(....)(..)(..T..)(..)(..)Z$/, '$1-$2-$3:$4:$5Z')
    const made = await signer.sign(request, { signingDate: new Date(stamp), signableHeaders: signed })
    return made.headers.authorization
  },
  entraSecret: ({ at, tenant, client, secret, scope }) =>
    new ClientSecretCredential(tenant, client, secret, { ...ENTRA, authorityHost: at }).getToken(scope),
  entraWorkload: ({ at, tenant, client, file, scope }) =>
    new WorkloadIdentityCredential({
      ...ENTRA,
      authorityHost: at,
      tenantId: tenant,
      clientId: client,
      tokenFilePath: file,
    }).getToken(scope),
  entraManaged: ({ client, scope }) => new ManagedIdentityCredential({ clientId: client }).getToken(scope),
  googleKey: ({ at, email, key, keyId, scope, audience }) => {
    // The SDK knows one address of the token endpoint.
    const fetchImplementation = (url, init) => fetch(String(url).replace('https://oauth2.googleapis.com', at), init)
    const wanted = audience === undefined ? { scopes: [scope] } : {}
    const client = new JWT({ email, key, keyId, ...wanted, transporterOptions: { fetchImplementation } })
    return audience === undefined ? client.getAccessToken() : client.fetchIdToken(audience)
  },
  googleExternal: ({ options, scope }) =>
    ExternalAccountClient.fromJSON({ ...options, scopes: [scope] }).getAccessToken(),
  googleMachine: async ({ audience, scope }) => {
    const auth = new GoogleAuth({ scopes: [scope] })
    if (audience === undefined) return auth.getAccessToken()
    return (await auth.getIdTokenClient(audience)).idTokenProvider.fetchIdToken(audience)
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { ask, ...more } = JSON.parse(line)
  const answer = await Promise.resolve(asks[ask](more)).catch(error => ({ error: String(error) }))
  const told = typeof answer === 'string' || answer?.error ? answer : null
  process.stdout.write(`${JSON.stringify({ answer: told })}\n`)
}
