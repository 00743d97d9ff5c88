import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { readClientHello } from '../../../src/engine/inbound/client-hello.ts'
import { Prelude } from '../../../src/engine/inbound/prelude.ts'
import { ManualClock } from '../manual-clock.ts'

/** Both ends of a connection. */
async function pair(): Promise<{ readonly client: Socket; readonly server: Socket }> {
  const listening = createServer().listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const accepted = once(listening, 'connection')
  const client = connect((listening.address() as { port: number }).port, '127.0.0.1')
  client.setNoDelay(true)
  const [server] = (await accepted) as [Socket]
  onTestFinished(() => {
    client.destroy()
    server.destroy()
    listening.close()
  })
  return { client, server }
}

/** A ClientHello of that many bytes, in records of `size` bytes each. */
function hello(length: number, size: number): Buffer {
  const message = Buffer.alloc(4 + length)
  message[0] = 1
  message.writeUIntBE(length, 1, 3)
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size)
    records.push(Buffer.from([0x16, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(records)
}

test.each([
  ['a record that arrives in small chunks', hello(16_000, 16_004), 7],
  ['one record per byte', hello(16_000, 1), 601],
])('a ClientHello is not parsed again for every chunk: %s', async (_name, bytes, piece) => {
  const { client, server } = await pair()
  let looks = 0
  let looked = 0
  const found = new Prelude(server, new ManualClock()).look(given => {
    looks++
    looked += given.length
    return readClientHello(given)
  }, 0)
  for (let at = 0; at < bytes.length; at += piece) {
    await new Promise(resolve => client.write(bytes.subarray(at, at + piece), resolve))
  }
  expect(await found).toEqual({ serverName: undefined })
  expect(looks).toBeLessThan(100)
  expect(looked).toBeLessThan(bytes.length * 50)
})

test('bytes read in many chunks are all put back', async () => {
  const { client, server } = await pair()
  const prelude = new Prelude(server, new ManualClock())
  const found = prelude.look(given => (given.length < 1000 ? 'more' : { value: 'yes', consumed: 10 }), 0)
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i & 255))
  for (const byte of bytes) await new Promise(resolve => client.write(Buffer.from([byte]), resolve))
  expect(await found).toBe('yes')
  prelude.release()
  const rest = once(server, 'data')
  server.resume()
  expect((await rest)[0]).toEqual(bytes.subarray(10))
})
