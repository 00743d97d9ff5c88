import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { dumpOf } from '../../src/config/dump.ts'
import { createSigner, keySet, NOW } from '../auth/token-fixture.ts'
import { ManualClock } from '../engine/manual-clock.ts'
import { startEnvoyServices } from '../helpers/envoy-services.ts'
import { startGateway } from '../helpers/gateway.ts'
import { sendToken, startTokenServer } from '../helpers/token-server.ts'
import { startUpstream } from '../helpers/upstream.ts'

const MARK = 'm4rk3d'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

interface Places {
  readonly backend: string
  readonly service: string
  readonly decides: string
  readonly tokens: string
}

/** One route for each policy that takes, checks, exchanges or sends a credential. */
const configOf = ({ backend, service, decides, tokens }: Places) => {
  const exchange = (path: string) =>
    `oauthTokenExchange: {host: '${tokens}', path: ${path}, clientAuth: {clientId: gw, clientSecret: ${MARK}-client}, additionalParams: {hint: 'request.headers["x-custom"]'}}`
  const routes: Record<string, readonly [policies: string, auth?: string]> = {
    basic: [`basicAuth: {htpasswd: 'bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='}`],
    key: [`apiKey: {keys: [{key: ${MARK}-key}], location: {header: {name: x-custom}}}`],
    query: [`apiKey: {keys: [{key: ${MARK}-key}], location: {queryParameter: {name: pass}}}`],
    cookie: [`apiKey: {keys: [{key: ${MARK}-key}], location: {cookie: {name: visit}}}`],
    jwt: ['jwtAuth: {issuer: https://issuer.example, jwks: {file: jwks.json}}', 'passthrough: {}'],
    opaque: [
      `jwtAuth: {issuer: 'https://o.example', introspection: {url: 'http://${tokens}/introspect', clientId: gw, clientSecret: ${MARK}-introspection}}`,
    ],
    http: [
      `extAuthz: {host: '${service}', protocol: {http: {addRequestHeaders: {x-pass: 'request.headers["authorization"]'}}}}`,
    ],
    grpc: [`extAuthz: {host: '${decides}', protocol: {grpc: {}}}`],
    proc: [`extProc: {host: '${decides}', processingOptions: {requestBodyMode: none, responseBodyMode: none}}`],
    limit: [
      `remoteRateLimit: {host: '${decides}', domain: d, descriptors: [{entries: [{key: k, value: 'request.headers["authorization"]'}]}]}`,
    ],
    fixed: ['', `key: ${MARK}-fixed`],
    place: ['', `key: {value: ${MARK}-fixed, location: {queryParameter: {name: hidden}}}`],
    aws: ['', `aws: {accessKeyId: ${MARK}-id, secretAccessKey: ${MARK}-secret, region: r}`],
    sign: ['', `jwtSign: {signingKey: {file: key.pem}, alg: ES256, claims: {note: 'request.headers["x-custom"]'}}`],
    exchange: ['', exchange('/token')],
    refused: ['', exchange('/refused')],
  }
  const lines = Object.entries(routes).map(
    ([name, [policies, auth]]) =>
      `  - {matches: [{path: {pathPrefix: /${name}}}], policies: {${policies}}, backends: [{host: '${backend}'${auth ? `, policies: {backendAuth: {${auth}}}` : ''}}]}`,
  )
  return {
    names: Object.keys(routes),
    text: `binds:\n- port: 8080\n  listeners:\n  - routes:\n${lines.map(line => `  ${line}`).join('\n')}\n`,
  }
}

test('no policy leaks a credential in responses, logs, dumps, traces or metrics', async () => {
  const backend = await startUpstream((_req, res) => res.end('ok'))
  let broken = false
  const service = await startUpstream((_req, res) => res.writeHead(broken ? 500 : 200).end(`${MARK}-words`))
  const reason = { code: 14, details: 'down' }
  const decides = await startEnvoyServices({
    check: () => (broken ? reason : {}),
    shouldRateLimit: () => (broken ? reason : { overallCode: 1 }),
    process: (request, call) => {
      if (broken) call.emit('error', reason)
      else call.write(request.requestHeaders ? { requestHeaders: {} } : { responseHeaders: {} })
    },
  })
  await using tokens = await startTokenServer()
  tokens.answer = ({ path }, res) => {
    if (broken || path === '/refused')
      res.writeHead(400).end(`{"error":"${MARK}-code","error_description":"${MARK}-words"}`)
    else if (path === '/introspect') res.end('{"active":true}')
    else sendToken(res, { access_token: `${MARK}-exchanged` })
  }
  const signer = await createSigner('k', 'ES256')
  const token = await signer.sign({ sub: 'ann' })
  const { names, text } = configOf({
    backend: backend.host,
    service: service.host,
    decides: decides.host,
    tokens: tokens.host,
  })
  await using gateway = await startGateway(text, {
    clock: new ManualClock(NOW * 1000),
    files: { 'jwks.json': keySet(signer), 'key.pem': PEM },
    logFilter: 'trace',
  })
  const credentials = [
    `Bearer ${token}`,
    `Bearer ${token}x`,
    `Bearer ${MARK}-opaque`,
    `Basic ${btoa(`bob:${MARK}-password`)}`,
  ]
  const watch = gateway.trace.watch({ requests: names.length * credentials.length * 2 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  const replies: string[] = []
  const events: string[] = []
  for (broken of [false, true]) {
    for (const authorization of credentials) {
      for (const name of names) {
        const headers = { authorization, 'x-custom': `${MARK}-key`, cookie: `visit=${MARK}-key` }
        const reply = await fetch(`${gateway.url(8080)}/${name}?pass=${MARK}-key`, { headers })
        replies.push(`${name} ${reply.status} ${JSON.stringify([...reply.headers])} ${await reply.text()}`)
        for (let event = watch.next(); event; event = watch.next()) events.push(JSON.stringify(event))
      }
    }
  }
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(JSON.stringify(event))
      return watch.finished
    })
    .toBe(true)
  watch.close()
  const statuses = new Set(replies.map(reply => reply.split(' ')[1]))
  for (const status of ['200', '401', '403', '500']) expect(statuses).toContain(status)
  const shown = {
    // What a service says for the client is the client's; nothing else is.
    replies: replies.filter(reply => !reply.startsWith('http ')).join('\n'),
    events: events.join('\n'),
    log: gateway.logged.join('\n'),
    dump: JSON.stringify(dumpOf(gateway.gateway.snapshot!, '1')),
    metrics: gateway.gateway.metrics.render('openmetrics'),
  }
  const [header, , signature = '-'] = token.split('.')
  const secrets = [
    MARK,
    signature,
    `${header}.`,
    btoa(`bob:${MARK}-password`),
    btoa(`gw:${MARK}-client`),
    PEM.slice(40, 90),
  ]
  for (const [place, told] of Object.entries(shown)) {
    expect(told.length, place).toBeGreaterThan(100)
    for (const secret of secrets) {
      const at = told.indexOf(secret)
      expect(at < 0 ? '' : told.slice(Math.max(0, at - 200), at + 60), `${place} shows ${secret.slice(0, 20)}`).toBe('')
    }
  }
  await Promise.all([backend, service, decides].map(each => each[Symbol.asyncDispose]()))
}, 60_000)
