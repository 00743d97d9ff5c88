// The clouds' own SDKs beside the gateway: signatures of AWS, and what is asked for tokens of Entra ID and Google.
import { generateKeyPairSync, verify } from 'node:crypto'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isInstalled } from './place.mjs'

const SDKS = {
  '@smithy/signature-v4': '5.7.5',
  '@smithy/protocol-http': '5.6.2',
  '@aws-crypto/sha256-js': '5.2.0',
  '@azure/identity': '4.14.1',
  'google-auth-library': '11.3.4',
}
const KEYS = ['AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', 'a/session+token==']
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const ENTRA = {
  tenant: 't-1',
  client: 'c-1',
  secret: 's e/c+r&t',
  scope: 'https://cognitiveservices.azure.com/.default',
}
const PATHS = [
  '/',
  '/model/anthropic.claude-3%3A0/invoke',
  '/a%20b/c+d/(e)',
  '/%C3%BC/x',
  '/a?b=c&a=1&a=0',
  '/a?q=a%20b+c&empty=&none&z=%2F%C3%BC%21',
  '/a?A=1&a=2&%41b=3',
]

export const title = `the clouds’ SDKs (@smithy/signature-v4 ${SDKS['@smithy/signature-v4']}, @azure/identity ${SDKS['@azure/identity']}, google-auth-library ${SDKS['google-auth-library']})`

export async function needs() {
  return (await isInstalled('openssl', ['version'])) ? undefined : 'there is no openssl'
}

export async function run(place) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const cloud = await startCloud(place)
  const sdk = await startSdks(place, cloud)
  const url = await startGateway(place, cloud, key)
  /** What the gateway asks, and what the SDK asks for the same. */
  const both = async (path, ask, more) => {
    cloud.asked.length = 0
    await fetch(url + path)
    const ours = cloud.asked.splice(0)
    const answer = await sdk({ ask, ...more })
    if (answer?.error) throw new Error(answer.error)
    return [ours, cloud.asked.splice(0)].map(asked => asked.filter(({ url }) => !/\.well-known|project-id$/.test(url)))
  }
  const alike = async (path, ask, more) => same(...(await both(path, ask, more)))
  const assertions = async (path, more) => {
    const [ours, theirs] = (
      await both(path, 'googleKey', { at: cloud.url, email: 'a@p.test', key, keyId: 'k1', scope: SCOPE, ...more })
    ).map(([{ form }]) => readAssertion(form, publicKey))
    return ours.valid && theirs.valid && same(ours.told, theirs.told)
  }
  const file = join(place.folder, 'federated.jwt')
  return {
    'signatures of AWS are the SDK’s, whatever is in path, query, body and session': async () => {
      for (const path of PATHS) {
        for (const [service, body] of [
          ['bedrock', ''],
          ['execute-api', '{"ü":1}'],
        ]) {
          cloud.signed.length = 0
          await fetch(`${url}/${service}${path}`, body ? { method: 'POST', body } : {})
          const [request] = cloud.signed
          const theirs = await sdk({ ask: 'sign', ...request, keys: KEYS, region: 'eu-west-1', service })
          if (request.headers.authorization !== theirs) throw new Error(`${service} ${path}`)
        }
      }
      return true
    },
    'a client secret of Entra ID asks as the SDK does': () =>
      alike('/secret', 'entraSecret', { at: cloud.secure, ...ENTRA }),
    'a workload identity of Entra ID asks as the SDK does': () =>
      alike('/workload', 'entraWorkload', { at: cloud.secure, ...ENTRA, file }),
    'a managed identity asks as the SDK does': () => alike('/managed', 'entraManaged', ENTRA),
    'a service account of Google asks for an access token as the SDK does': () => assertions('/account', {}),
    'a service account of Google asks for an ID token as the SDK does': () =>
      assertions('/identity', { audience: 'https://run.test' }),
    'an external account of Google asks as the SDK does': async () =>
      alike('/external', 'googleExternal', { options: externalAccount(cloud, file), scope: SCOPE }),
    'a machine of Google asks for both kinds of token as the SDK does': async () =>
      (await alike('/machine', 'googleMachine', { scope: SCOPE })) &&
      (await alike('/machine-identity', 'googleMachine', { scope: SCOPE, audience: 'https://run.test' })),
  }
}

/** One place that answers as all of them do. */
async function startCloud(place) {
  const cloud = { asked: [], signed: [], url: '', secure: '', authority: join(place.folder, 'ca.pem') }
  const answer = (req, res) => {
    const chunks = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { method, url, headers } = req
      if (headers['x-amz-date']) cloud.signed.push({ method, url, headers, body })
      else if (!url.startsWith('/backend')) cloud.asked.push(questionOf(method, url, headers, body))
      res.setHeader('metadata-flavor', 'Google')
      if (url.includes('/identity?audience')) res.end(jwt())
      else res.setHeader('content-type', 'application/json').end(JSON.stringify(replyTo(url, cloud)))
    })
  }
  const plain = await place.backend(answer)
  const config = `[req]\ndistinguished_name=n\n[n]\n`
  await writeFile(join(place.folder, 'openssl.cnf'), config)
  const made = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2', '-nodes', '-x509']
  const files = ['-newkey', 'rsa:2048', '-keyout', 'ca.key', '-out', 'ca.pem', '-config', 'openssl.cnf']
  await place.run('openssl', ['req', ...made, ...files])
  const tls = { cert: await readFile(cloud.authority), key: await readFile(join(place.folder, 'ca.key')) }
  const secure = createServer(tls, answer)
  await new Promise(done => secure.listen(0, 'localhost', done))
  place.closes(() => new Promise(done => secure.close(done).closeAllConnections()))
  cloud.url = `http://${plain}`
  cloud.secure = `https://localhost:${secure.address().port}`
  return cloud
}

function replyTo(url, { secure }) {
  if (url.includes('.well-known')) {
    const at = `${secure}/${ENTRA.tenant}`
    const endpoints = {
      authorization_endpoint: `${at}/oauth2/v2.0/authorize`,
      token_endpoint: `${at}/oauth2/v2.0/token`,
    }
    return { issuer: `${at}/v2.0`, jwks_uri: `${at}/keys`, ...endpoints }
  }
  const expires = { expires_in: 3600, expires_on: String(Math.floor(Date.now() / 1000) + 3600) }
  return { access_token: 'token', id_token: jwt(), token_type: 'Bearer', ...expires }
}

function jwt() {
  const part = value => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1000) + 3600 })}.c2ln`
}

/** Without what SDKs say about themselves. */
function questionOf(method, url, headers, body) {
  const { pathname, search } = new URL(url, 'http://any')
  const own = text =>
    Object.fromEntries(
      [...new URLSearchParams(text)]
        .filter(([name]) => !/^(client_info|client-request-id|x-client-|x-ms-)/.test(name))
        .sort(),
    )
  const form = headers['content-type']?.includes('json') ? JSON.parse(body) : own(body)
  const { metadata, 'metadata-flavor': flavor, authorization } = headers
  return {
    method,
    url: pathname.replace(/\/$/, ''),
    query: own(search),
    form,
    metadata: metadata?.toLowerCase(),
    flavor,
    authorization,
  }
}

async function startSdks(place, cloud) {
  await mkdir(join(place.folder, 'sdks'))
  const cwd = join(place.folder, 'sdks')
  await copyFile(fileURLToPath(new URL('cloud-sdks.mjs', import.meta.url)), join(cwd, 'sdks.mjs'))
  await writeFile(join(cwd, 'package.json'), JSON.stringify({ private: true, dependencies: SDKS }))
  await place.run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], { cwd })
  const { child } = place.start(process.execPath, ['sdks.mjs'], {
    cwd,
    env: { ...process.env, ...envOf(place, cloud) },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return async question => {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    const { value } = await lines.next()
    return JSON.parse(value).answer
  }
}

function envOf(place, { url, secure, authority }) {
  return {
    HOME: place.folder,
    NODE_EXTRA_CA_CERTS: authority,
    AZURE_AUTHORITY_HOST: secure,
    AZURE_POD_IDENTITY_AUTHORITY_HOST: url,
    GCE_METADATA_HOST: new URL(url).host,
    METADATA_SERVER_DETECTION: 'assume-present',
  }
}

async function startGateway(place, cloud, key) {
  const { host } = new URL(cloud.url)
  await writeFile(join(place.folder, 'federated.jwt'), 'a.federated.token')
  const account = {
    type: 'service_account',
    client_email: 'a@p.test',
    private_key: key,
    private_key_id: 'k1',
    token_uri: `${cloud.url}/token`,
  }
  await writeFile(join(place.folder, 'account.json'), JSON.stringify(account))
  const external = externalAccount(cloud, join(place.folder, 'federated.jwt'))
  await writeFile(join(place.folder, 'external.json'), JSON.stringify(external))
  const aws = service =>
    `aws: {accessKeyId: ${KEYS[0]}, secretAccessKey: '${KEYS[1]}', sessionToken: '${KEYS[2]}', region: eu-west-1, serviceName: ${service}}`
  const { tenant, client, secret } = ENTRA
  const routes = {
    secret: `azure: {explicitConfig: {clientSecret: {tenant_id: ${tenant}, client_id: ${client}, client_secret: '${secret}'}}}`,
    workload: 'azure: {explicitConfig: {workloadIdentity: {}}}',
    managed: `azure: {explicitConfig: {managedIdentity: {userAssignedIdentity: {clientId: ${client}}}}}`,
    account: 'gcp: {credential: {file: account.json}}',
    identity: `gcp: {type: idToken, audience: 'https://run.test', credential: {file: account.json}}`,
    external: 'gcp: {credential: {file: external.json}}',
    machine: 'gcp: {}',
    'machine-identity': `gcp: {type: idToken, audience: 'https://run.test'}`,
    bedrock: aws('bedrock'),
    'execute-api': aws('execute-api'),
  }
  const lines = Object.entries(routes).map(([name, auth]) => {
    // Signed requests arrive under their own path, the others under one that tells them from questions.
    const rewrite = auth.startsWith('aws') ? '/' : '/backend'
    return `{matches: [{path: {pathPrefix: /${name}}}], policies: {urlRewrite: {path: {prefix: ${rewrite}}}}, backends: [{host: '${host}', policies: {backendAuth: {${auth}}}}]}`
  })
  // The SDK would take the identity of a pod for that of its machine.
  const pod = {
    AZURE_TENANT_ID: ENTRA.tenant,
    AZURE_CLIENT_ID: ENTRA.client,
    AZURE_FEDERATED_TOKEN_FILE: join(place.folder, 'federated.jwt'),
  }
  return place.gateway('clouds', lines.join(',\n'), { ...envOf(place, cloud), ...pod })
}

const externalAccount = (cloud, file) => ({
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${cloud.url}/v1/token`,
  credential_source: { file },
})

function readAssertion({ grant_type, assertion }, publicKey) {
  const [header, claims, signature] = assertion.split('.')
  const read = part => JSON.parse(Buffer.from(part, 'base64url').toString())
  const { iat, exp, aud, sub, ...said } = read(claims)
  const valid = verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url'))
  return {
    valid: valid && aud.endsWith('/token') && exp - iat === 3600,
    told: { grant_type, said, alg: read(header).alg },
  }
}

function same(ours, theirs) {
  const sorted = value =>
    JSON.stringify(value, (_, each) =>
      each && typeof each === 'object' && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
        : each,
    )
  if (sorted(ours) === sorted(theirs)) return true
  throw new Error(`${sorted(ours)}\n  the SDK: ${sorted(theirs)}`)
}
