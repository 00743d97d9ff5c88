import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { IncomingBody, passOn } from '../../src/http/incoming-body.ts'

/** As a socket gives it: memory that nothing else lies in. */
const read = (text: string): Buffer => Buffer.from(new Uint8Array(Buffer.from(text)).buffer)

async function sent(body: IncomingBody): Promise<string> {
  let text = ''
  const to = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    },
  })
  for await (const chunk of body) passOn(body, chunk, to)
  await new Promise<void>(resolve => to.end(resolve))
  return text
}

test('frees memory of sent bytes, unless they were read before or share a buffer with other bytes', async () => {
  const body = new IncomingBody(() => {})
  const [begun, rest] = [read('begun '), read('rest ')]
  const shared = read('more end')
  body.push(rest)
  body.push(shared.subarray(5))
  body.push(null)
  body.unshift(begun)
  expect(await sent(body)).toBe('begun rest end')
  expect(begun.toString()).toBe('begun ')
  expect(rest.buffer.byteLength).toBe(0)
  expect(shared.toString()).toBe('more end')
})
