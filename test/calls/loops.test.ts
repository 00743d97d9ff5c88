import { expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { ownPort } from '../helpers/own-port.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

const same = { portFor: (port: number) => port }

test('a request that loops back to the gateway ends with 508 after a few rounds', async () => {
  const port = await ownPort()
  const text = `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: "localhost:${port}"}]}]}]}]\n`
  await using gateway = await startGateway(text, same)
  const reply = await fetch(`http://127.0.0.1:${port}/`)
  expect([reply.status, await reply.text()]).toEqual([508, expect.stringContaining('loops through the gateway')])
  expect(gateway.logged.filter(line => line.includes('508')).length).toBeLessThan(8)
})

test('a request that loops through two ports also ends with 508', async () => {
  const [a, b] = [await ownPort(), await ownPort()]
  const bind = (port: number, to: number) =>
    `{port: ${port}, listeners: [{routes: [{backends: [{host: "127.0.0.1:${to}"}]}]}]}`
  await using _ = await startGateway(`binds: [${bind(a, b)}, ${bind(b, a)}]\n`, same)
  expect((await fetch(`http://127.0.0.1:${a}/`)).status).toBe(508)
})

test('one port behind another is not a loop, and clients cannot forge the count', async () => {
  await using upstream = await startUpstream(echo)
  const [a, b] = [await ownPort(), await ownPort()]
  const bind = (port: number, to: string) => `{port: ${port}, listeners: [{routes: [{backends: [{host: "${to}"}]}]}]}`
  await using _ = await startGateway(`binds: [${bind(a, `127.0.0.1:${b}`)}, ${bind(b, upstream.host)}]\n`, same)
  expect((await fetch(`http://127.0.0.1:${a}/`)).status).toBe(200)
  for (const hops of ['-99', 'x', '1e9', '4'])
    expect([200, 508]).toContain((await fetch(`http://127.0.0.1:${a}/`, { headers: { 'x-gwctl-hops': hops } })).status)
})
