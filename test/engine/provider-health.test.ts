import { describe, expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

describe('an evicted provider', () => {
  test('is tried last until its eviction expires', async () => {
    const asked: string[] = []
    let broken = true
    const provider = (name: string) =>
      startUpstream((_req, res) => {
        asked.push(name)
        if (name === 'one' && broken) res.writeHead(503, { 'content-type': 'application/json' }).end('{}')
        else
          res
            .writeHead(200, { 'content-type': 'application/json' })
            .end('{"id":"1","object":"chat.completion","model":"m","choices":[]}')
      })
    await using one = await provider('one')
    await using two = await provider('two')
    const clock = new ManualClock()
    const group = (name: string, host: string) =>
      `{providers: [{name: ${name}, provider: {openAI: {}}, hostOverride: '${host}'}]}`
    await using gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{routes: [{backends: [{
        ai: {groups: [${group('one', one.host)}, ${group('two', two.host)}]},
        policies: {health: {eviction: {duration: 30s}}}}]}]}]}]`,
      { clock },
    )
    const call = () =>
      fetch(gateway.url(8080), { method: 'POST', body: '{"model":"m","messages":[]}' }).then(r => r.arrayBuffer())
    await call()
    await call()
    expect(asked).toEqual(['one', 'two', 'two'])
    broken = false
    clock.advance(30_000)
    await call()
    expect(asked.at(-1)).toBe('one')
  })
})
