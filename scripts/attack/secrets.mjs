const CANARY = 'canary-5f4e3d2c'
const FIELDS = [
  'authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-auth-token',
  'X-Access-Token',
  'private-token',
  'Proxy-Authorization',
]
const PARAMETERS = [
  'api_key',
  'apikey',
  'key',
  'access_token',
  'token',
  'sig',
  'signature',
  'X-Amz-Signature',
  'client_secret',
  'api%5Fkey',
]

/** @type {readonly import('./areas.mjs').Attack[]} */
export const secrets = [
  {
    name: 'Credentials under every usual name, in fields and queries of requests and in the configuration, looked for in what the gateway tells',
    defends:
      'one list of names and the annotations of the schema hide them from dump, trace, log, metrics and findings',
    async run({ start, backend, raw, holds, cli, folder }) {
      const upstream = await backend((_req, res) =>
        res.writeHead(302, { location: `/next?code=${CANARY}`, 'set-cookie': `s=${CANARY}` }).end(),
      )
      const set = `{authorization: '"Bearer ${CANARY}"', x-auth-token: '"${CANARY}"'}`
      const policies = `policies: {transformations: {request: {set: ${set}}}, requestHeaderModifier: {add: {x-access-token: ${CANARY}}}}`
      const config = port =>
        `binds: [{port: ${port}, listeners: [{routes: [{${policies}, backends: [{host: '${upstream.host}'}]}]}]}]`
      const gateway = await start(config)
      const trace = fetch(`${gateway.admin}/debug/trace?follow=2`, { signal: AbortSignal.timeout(20_000) }).then(
        reply => reply.text(),
      )
      const fields = FIELDS.map(name => `${name}: ${CANARY}\r\n`).join('')
      const query = PARAMETERS.map(name => `${name}=${CANARY}`).join('&')
      await new Promise(resolve => setTimeout(resolve, 500))
      for (let i = 0; i < 2; i++) {
        await raw(
          gateway.port,
          `GET /a?${query} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nReferer: http://b/?token=${CANARY}\r\n${fields}\r\n`,
        )
      }
      const [dump, metrics] = await Promise.all(
        [`${gateway.admin}/config_dump`, `${gateway.stats}/metrics`].map(async url => (await fetch(url)).text()),
      )
      const misplaced = folder({
        'a.yaml': `${config(1)}\nheaders: {authorization: Bearer ${CANARY}}\nx-api-key: ${CANARY}\n`,
      })
      const findings = await cli(['validate', 'a.yaml'], { cwd: misplaced })
      const told = {
        dump,
        metrics,
        trace: await trace.catch(error => `no trace: ${error.message}`),
        log: gateway.said(),
        findings: findings.stdout,
      }
      holds(upstream.requests.length === 2, `${upstream.requests.length} requests arrived`)
      holds(!told.trace.startsWith('no trace'), told.trace)
      holds(told.log.includes('/a?'), 'the log has no record of the requests')
      for (const [where, text] of Object.entries(told)) {
        const at = text.indexOf(CANARY)
        holds(at < 0, `the ${where} shows it: ${JSON.stringify(text.slice(Math.max(0, at - 120), at + 30))}`)
      }
      return `${FIELDS.length} fields, ${PARAMETERS.length} parameters, ${Object.keys(told).length} places`
    },
  },
]
