import { expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'

/** As a file writes it, where `$NAME` is a variable. */
const BCRYPT = '$2y$05$$LMZ.8WGNqvagmtJz2Gw6VuiE6khXc2zc0FDTHrfWJyLT66HM8BMAa'
const file = (hash: string) => `
binds:
  - port: 8080
    listeners:
      - routes:
          - policies:
              basicAuth: {htpasswd: 'alice:${hash}'}
              directResponse: {status: 200, body: in}
`
const threads = () => process.report.getReport() as unknown as { workers: unknown[] }

test('checks slow hashes in threads that start on the first password and stop with the gateway', async () => {
  const before = threads().workers.length
  {
    await using gateway = await startGateway(file(BCRYPT))
    const ask = (password: string) =>
      fetch(gateway.url(8080), { headers: { authorization: `Basic ${btoa(`alice:${password}`)}` } })
    expect(threads().workers.length).toBe(before)
    const wrong = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(`wrong ${i}`)))
    expect(wrong.map(({ status }) => status)).toEqual(Array(20).fill(401))
    expect(threads().workers.length).toBe(before + 2)
    expect((await ask('agentgateway')).status).toBe(200)
  }
  await expect.poll(() => threads().workers.length).toBe(before)
})

test('starts no threads for fast hashes', async () => {
  const before = threads().workers.length
  await using gateway = await startGateway(file('{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='))
  const response = await fetch(gateway.url(8080), { headers: { authorization: `Basic ${btoa('alice:password')}` } })
  expect([response.status, threads().workers.length]).toEqual([200, before])
})

test('tells the client when to retry after too many failed attempts', async () => {
  await using gateway = await startGateway(file('{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='))
  const ask = (password: string) =>
    fetch(gateway.url(8080), { headers: { authorization: `Basic ${btoa(`alice:${password}`)}` } })
  for (let i = 0; i < 60; i++) expect((await ask(`wrong ${i}`)).status).toBe(401)
  const refused = await ask('password')
  expect([refused.status, await refused.text()]).toEqual([
    429,
    'basic authentication failure: too many wrong passwords',
  ])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})
