import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Account, bodyOf, verifySignature } from '../helpers/aws-server.ts'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

const ACCOUNT: Account = { accessKeyId: 'AKIDTEST', secretAccessKey: 'secret+/key' }
const SESSION: Account = { accessKeyId: 'ASIATEST', secretAccessKey: 'session/secret', sessionToken: 'the+token==' }
const SCOPE = { region: 'eu-west-1', service: 'execute-api' }

/** Answers 200 to what is signed rightly, else 403 with the reason. */
const signedFor = (account: Account, scope = SCOPE) =>
  startUpstream(async (req, res) => {
    const body = await bodyOf(req)
    const wrong = verifySignature(req, body, account, scope)
    res.writeHead(wrong === undefined ? 200 : 403).end(wrong ?? `${req.url} ${body}`)
  })

const file = (host: string, aws: string) =>
  `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${host}', policies: {backendAuth: {aws: ${aws}}}}]}]}]}]`
const EXPLICIT = `{accessKeyId: AKIDTEST, secretAccessKey: 'secret+/key', region: eu-west-1, serviceName: execute-api}`
const PLACE = '{region: eu-west-1, serviceName: execute-api}'
const ask = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init)
  return `${response.status} ${await response.text()}`
}
const NO_INSTANCE = { AWS_EC2_METADATA_DISABLED: 'true' }

describe('requests are signed', () => {
  test.each<[string, string, RequestInit]>([
    ['plain', '/', {}],
    ['with a path and a query', '/a/b%20c/d?z=1&a=%2F&a=b%20c&empty', {}],
    ['with unusual characters', "/it's(1)*!?q=~-_.*'()!", {}],
    ['with a body', '/', { method: 'POST', body: 'hello', headers: { 'content-type': 'text/plain' } }],
    ['with custom header fields', '/', { headers: { 'x-amz-meta': ' a  b ', 'x-other': '1' } }],
    [
      'with a forged client signature',
      '/',
      {
        headers: { authorization: 'AWS4-HMAC-SHA256 x', 'x-amz-date': '20000101T000000Z', 'x-amz-security-token': 't' },
      },
    ],
  ])('%s', async (_name, path, init) => {
    await using upstream = await signedFor(ACCOUNT)
    await using gateway = await startGateway(file(upstream.host, EXPLICIT))
    expect(await ask(gateway.url(8080) + path, init)).toMatch(/^200 /)
  })

  test('with a chunked body', async () => {
    await using upstream = await signedFor(ACCOUNT)
    await using gateway = await startGateway(file(upstream.host, EXPLICIT))
    const body = new Blob(['one ', 'two']).stream()
    expect(await ask(gateway.url(8080), { method: 'POST', body, duplex: 'half' } as RequestInit)).toBe('200 / one two')
  })

  test('again for each attempt', async () => {
    let calls = 0
    await using upstream = await startUpstream(async (req, res) => {
      const wrong = verifySignature(req, await bodyOf(req), ACCOUNT, SCOPE)
      res.writeHead(calls++ === 0 ? 503 : wrong === undefined ? 200 : 403).end(wrong)
    })
    const config = file(upstream.host, EXPLICIT).replace('{backends', '{policies: {retry: {codes: [503]}}, backends')
    await using gateway = await startGateway(config)
    expect(await ask(gateway.url(8080), { method: 'POST', body: 'x' })).toBe('200 ')
  })

  test('a body too long to be signed is rejected', async () => {
    await using upstream = await signedFor(ACCOUNT)
    await using gateway = await startGateway(file(upstream.host, EXPLICIT))
    const body = Buffer.alloc(3 << 20)
    expect(await ask(gateway.url(8080), { method: 'POST', body })).toMatch(/^413 /)
    expect(await ask(gateway.url(8080))).toMatch(/^200 /)
  })

  test('nothing is sent when the region or service is unknown', async () => {
    await using upstream = await signedFor(ACCOUNT)
    const keys = '{accessKeyId: AKIDTEST, secretAccessKey: x}'
    await using gateway = await startGateway(file(upstream.host, keys))
    expect(await ask(gateway.url(8080))).toBe('500 backend authentication failed: nothing tells the AWS region')
    expect(upstream.connections).toBe(0)
  })
})

describe('credentials', () => {
  test('come from the environment', async () => {
    await using upstream = await signedFor(SESSION)
    const env = {
      AWS_ACCESS_KEY_ID: SESSION.accessKeyId,
      AWS_SECRET_ACCESS_KEY: SESSION.secretAccessKey,
      AWS_SESSION_TOKEN: SESSION.sessionToken!,
      AWS_REGION: 'eu-west-1',
    }
    await using gateway = await startGateway(file(upstream.host, '{serviceName: execute-api}'), { env })
    expect(await ask(gateway.url(8080))).toMatch(/^200 /)
  })

  test('come from the shared file, by profile', async () => {
    const path = await written(
      `[default]\naws_access_key_id = OTHER\naws_secret_access_key = x\n\n# mine\n[ mine ]\naws_access_key_id=${ACCOUNT.accessKeyId}\naws_secret_access_key = ${ACCOUNT.secretAccessKey} \n`,
    )
    await using upstream = await signedFor(ACCOUNT)
    const env = { AWS_SHARED_CREDENTIALS_FILE: path, AWS_PROFILE: 'mine' }
    await using gateway = await startGateway(file(upstream.host, PLACE), { env })
    expect(await ask(gateway.url(8080))).toMatch(/^200 /)
  })

  test('come from a web identity', async () => {
    const path = await written('the.identity.token\n')
    const asked: URLSearchParams[] = []
    await using sts = await startUpstream(async (req, res) => {
      asked.push(new URLSearchParams((await bodyOf(req)).toString()))
      res.end(
        JSON.stringify({
          AssumeRoleWithWebIdentityResponse: { AssumeRoleWithWebIdentityResult: { Credentials: json(SESSION) } },
        }),
      )
    })
    await using upstream = await signedFor(SESSION)
    const env = {
      AWS_WEB_IDENTITY_TOKEN_FILE: path,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/r',
      AWS_ENDPOINT_URL_STS: `http://${sts.host}`,
    }
    await using gateway = await startGateway(file(upstream.host, PLACE), { env })
    expect(await ask(gateway.url(8080))).toMatch(/^200 /)
    expect(Object.fromEntries(asked[0]!)).toMatchObject({
      Action: 'AssumeRoleWithWebIdentity',
      WebIdentityToken: 'the.identity.token',
      RoleArn: 'arn:aws:iam::123456789012:role/r',
    })
  })

  test('come from the container', async () => {
    await using metadata = await startUpstream((req, res) => {
      if (req.headers.authorization === 'pass') res.end(JSON.stringify(described(SESSION)))
      else res.writeHead(401).end()
    })
    await using upstream = await signedFor(SESSION)
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${metadata.host}/creds`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'pass',
    }
    await using gateway = await startGateway(file(upstream.host, PLACE), { env })
    expect(await ask(gateway.url(8080))).toMatch(/^200 /)
  })

  test('come from the instance, and are renewed before they expire', async () => {
    const clock = new ManualClock()
    let current = SESSION
    let asked = 0
    await using metadata = await startUpstream((req, res) => {
      if (req.method === 'PUT' && req.url === '/latest/api/token') res.end('imds-token')
      else if (req.headers['x-aws-ec2-metadata-token'] !== 'imds-token') res.writeHead(401).end()
      else if (req.url === '/latest/meta-data/iam/security-credentials/') res.end('my-role\n')
      else {
        asked++
        res.end(JSON.stringify(described(current, new Date(clock.now() + 3_600_000).toISOString())))
      }
    })
    await using upstream = await startUpstream(async (req, res) => {
      res.end(verifySignature(req, await bodyOf(req), current, SCOPE) ?? 'right')
    })
    const env = { AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://${metadata.host}` }
    // The client keeps its connection over the hours that pass.
    const patient = `frontendPolicies: {http: {http1IdleTimeout: 24h}}\n${file(upstream.host, PLACE)}`
    await using gateway = await startGateway(patient, { env, clock })
    const all = await Promise.all([1, 2, 3].map(() => ask(gateway.url(8080))))
    expect([all, asked]).toEqual([['200 right', '200 right', '200 right'], 1])
    clock.advance(3_600_000 - 4 * 60_000)
    // The old ones still hold while the new ones are fetched.
    expect(await ask(gateway.url(8080))).toBe('200 right')
    while (asked < 2) await new Promise(setImmediate)
    current = { ...SESSION, accessKeyId: 'ASIANEXT' }
    clock.advance(3_600_000)
    expect(await ask(gateway.url(8080))).toBe('200 right')
  })

  test('are exchanged for those of an assumed role', async () => {
    await using sts = await startUpstream(async (req, res) => {
      const body = await bodyOf(req)
      const wrong = verifySignature(req, body, ACCOUNT, { region: 'eu-west-1', service: 'sts' })
      const form = new URLSearchParams(body.toString())
      if (wrong !== undefined || form.get('RoleSessionName') !== 'me' || form.get('Tags.member.1.Value') !== 'v') {
        res.writeHead(403).end(wrong)
      } else res.end(JSON.stringify({ AssumeRoleResponse: { AssumeRoleResult: { Credentials: json(SESSION) } } }))
    })
    await using upstream = await signedFor(SESSION)
    const env = {
      AWS_ACCESS_KEY_ID: ACCOUNT.accessKeyId,
      AWS_SECRET_ACCESS_KEY: ACCOUNT.secretAccessKey,
      AWS_ENDPOINT_URL_STS: `http://${sts.host}`,
    }
    const role = `{region: eu-west-1, serviceName: execute-api, assumeRole: {roleArn: 'arn:aws:iam::123456789012:role/r', sessionName: me, tags: [{key: k, value: v}]}}`
    await using gateway = await startGateway(file(upstream.host, role), { env })
    expect(await ask(gateway.url(8080))).toMatch(/^200 /)
  })

  test('are a separate session for each name given by requests, and never shared', async () => {
    const asked: string[] = []
    await using sts = await startUpstream(async (req, res) => {
      const form = new URLSearchParams((await bodyOf(req)).toString())
      const [name, team] = [form.get('RoleSessionName') ?? '', form.get('Tags.member.1.Value')]
      asked.push(`${name}/${team}`)
      const session = { ...SESSION, accessKeyId: `ASIA-${name}-${team}` }
      res.end(JSON.stringify({ AssumeRoleResponse: { AssumeRoleResult: { Credentials: json(session) } } }))
    })
    await using upstream = await startUpstream((req, res) => {
      res.end(/Credential=([^/]+)/.exec(req.headers.authorization ?? '')?.[1])
    })
    const env = {
      AWS_ACCESS_KEY_ID: ACCOUNT.accessKeyId,
      AWS_SECRET_ACCESS_KEY: ACCOUNT.secretAccessKey,
      AWS_ENDPOINT_URL_STS: `http://${sts.host}`,
    }
    const role = `{region: eu-west-1, serviceName: execute-api, assumeRole: {roleArn: 'arn:aws:iam::123456789012:role/r',
      sessionName: {expression: 'request.headers["x-user"]'}, tags: [{key: team, expression: 'request.headers["x-team"]'}]}}`
    await using gateway = await startGateway(file(upstream.host, role), { env })
    const as = (user: string, team: string) => ask(gateway.url(8080), { headers: { 'x-user': user, 'x-team': team } })
    const first = await Promise.all([as('ann', 'red'), as('ann', 'red'), as('bob', 'red'), as('ann', 'blue')])
    const expected = ['200 ASIA-ann-red', '200 ASIA-ann-red', '200 ASIA-bob-red', '200 ASIA-ann-blue']
    expect(first).toEqual(expected)
    expect(await as('ann', 'red')).toBe('200 ASIA-ann-red')
    expect(asked.sort()).toEqual(['ann/blue', 'ann/red', 'bob/red'])
    for (const name of ['a', 'ann|bob', 'x'.repeat(65)]) {
      expect(await as(name, 'red')).toBe(
        '500 backend authentication failed: the name of the AWS session is not one that AWS takes',
      )
    }
    expect(await ask(gateway.url(8080))).toBe(
      '500 backend authentication failed: the name of the AWS session cannot be computed',
    )
    expect(asked).toHaveLength(3)
  })

  test('that are unavailable fail the call and say which sources were tried', async () => {
    await using upstream = await signedFor(ACCOUNT)
    await using gateway = await startGateway(file(upstream.host, PLACE), { env: NO_INSTANCE })
    expect(await ask(gateway.url(8080))).toMatch(
      /^500 backend authentication failed: no AWS credentials: none in the env/,
    )
    expect(upstream.connections).toBe(0)
  })

  test('never appear in the dump', async () => {
    await using gateway = await startGateway(file('127.0.0.1:1', EXPLICIT))
    expect(JSON.stringify(gateway.gateway.snapshot)).not.toContain('secret+/key')
  })
})

test('an AgentCore runtime is invoked by its ARN, with a signature for it', async () => {
  const authority = createAuthority('test authority')
  const { cert, key } = createCertificate(authority, ['bedrock-agentcore.eu-west-1.amazonaws.com'])
  const scope = { region: 'eu-west-1', service: 'bedrock-agentcore' }
  const agent = createHttps({ cert, key }, async (req, res) => {
    const wrong = verifySignature(req, await bodyOf(req), ACCOUNT, scope)
    res.end(wrong ?? `${req.method} ${req.headers.host} ${req.url}`)
  })
  // The host of AWS is out of reach: the tunnel leads to the server above.
  const proxy = createServer(socket => {
    socket.once('data', () => {
      const to = connect((agent.address() as AddressInfo).port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.pipe(to).pipe(socket)
      })
      to.on('error', () => socket.destroy())
      socket.on('error', () => to.destroy())
    })
  })
  agent.listen(0, '127.0.0.1')
  proxy.listen(0, '127.0.0.1')
  await Promise.all([once(agent, 'listening'), once(proxy, 'listening')])
  const arn = 'arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/my-agent'
  const env = { AWS_ACCESS_KEY_ID: ACCOUNT.accessKeyId, AWS_SECRET_ACCESS_KEY: ACCOUNT.secretAccessKey }
  {
    await using gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{routes: [{backends: [{
        aws: {agentCore: {agentRuntimeArn: '${arn}', qualifier: prod 1}},
        policies: {backendTLS: {root: ca.pem}, backendTunnel: {proxy: {host: '127.0.0.1:${(proxy.address() as AddressInfo).port}'}}}}]}]}]}]`,
      { env, files: { 'ca.pem': authority.cert } },
    )
    expect(await ask(`${gateway.url(8080)}/any?thing`, { method: 'POST', body: '{}' })).toBe(
      `200 POST bedrock-agentcore.eu-west-1.amazonaws.com /runtimes/${encodeURIComponent(arn)}/invocations?qualifier=prod%201`,
    )
  }
  agent.close()
  agent.closeAllConnections()
  proxy.close()
})

test('an ARN that is not of a runtime is a finding', async () => {
  const config = `binds: [{port: 8080, listeners: [{routes: [{backends: [{aws: {agentCore: {agentRuntimeArn: 'arn:aws:s3:::b'}}}]}]}]}]`
  await expect(startGateway(config)).rejects.toThrow(/GW106 .* is not the ARN of an AgentCore runtime/)
})

/** The path of a file with this text, for the time of the test. */
async function written(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'aws-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'file')
  await writeFile(path, text)
  return path
}

/** As STS writes them. */
function json({ accessKeyId, secretAccessKey, sessionToken }: Account) {
  return {
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    SessionToken: sessionToken,
    Expiration: Date.now() / 1000 + 3600,
  }
}

/** As metadata services write them. */
function described(
  { accessKeyId, secretAccessKey, sessionToken }: Account,
  expiration = new Date(Date.now() + 3_600_000).toISOString(),
) {
  return { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken, Expiration: expiration }
}
