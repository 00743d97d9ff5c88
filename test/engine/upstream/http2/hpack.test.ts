import http2 from 'node:http2'
import net from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HpackDecoder } from '../../../../src/engine/upstream/http2/hpack-decoder.ts'
import { HpackEncoder } from '../../../../src/engine/upstream/http2/hpack-encoder.ts'
import { Huffman } from '../../../../src/engine/upstream/http2/huffman.ts'
import { frame } from '../../../helpers/http2-frames.ts'

const huffman = new Huffman()
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const decoder = (limit = 65_536) => new HpackDecoder(limit, huffman)
const read = (of: HpackDecoder, block: Buffer) => of.decode(block, 0, block.length)

const REQUESTS = [
  [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'],
  [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com', 'cache-control', 'no-cache'],
  [
    ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
    ...['custom-key', 'custom-value'],
  ],
]
const DATES = ['Mon, 21 Oct 2013 20:13:21 GMT', 'Mon, 21 Oct 2013 20:13:22 GMT']
const LOCATION = ['location', 'https://www.example.com']
const COOKIE = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
const RESPONSES = [
  [':status', '302', 'cache-control', 'private', 'date', DATES[0]!, ...LOCATION],
  [':status', '307', 'cache-control', 'private', 'date', DATES[0]!, ...LOCATION],
  [
    ...[':status', '200', 'cache-control', 'private', 'date', DATES[1]!, ...LOCATION],
    ...['content-encoding', 'gzip', 'set-cookie', COOKIE],
  ],
]

describe('the examples of RFC 7541 appendix C', () => {
  test.each([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key', 'custom-header']],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path']],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret']],
    ['C.2.4', '82', [':method', 'GET']],
  ])('%s', (_name, block, wanted) => {
    expect(read(decoder(), hex(block))).toEqual(wanted)
  })

  // The table of C.5 and C.6 has 256 bytes, which a first block can say too.
  test.each([
    [
      'C.3',
      REQUESTS,
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    ],
    [
      'C.4',
      REQUESTS,
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ],
    [
      'C.5',
      RESPONSES,
      [
        `3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133
         3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738
         666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33
         3630 303b 2076 6572 7369 6f6e 3d31`,
      ],
    ],
    [
      'C.6',
      RESPONSES,
      [
        `3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d
         29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
        '4883 640e ffc1 c0bf',
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7
         b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      ],
    ],
  ])('%s', (_name, wanted, blocks) => {
    const of = decoder()
    expect(blocks.map(block => read(of, hex(block)))).toEqual(wanted)
  })
})

describe('invalid header blocks', () => {
  test.each([
    ['an index of zero', '80'],
    ['an index beyond the table', 'be'],
    ['a name beyond the table', '7f00 0161'],
    ['an overlong integer', 'ff80 8080 8080 01'],
    ['a truncated integer', 'ff80'],
    ['a truncated string', '0003 6162'],
    ['a name without a value', '0001 61'],
    ['a table larger than allowed', '3fe2 1f'],
    ['a table size update after a field', '8220'],
    ['Huffman padding of more than seven bits', '0001 6182 1fff'],
    ['Huffman padding with zeros', '0001 6181 18'],
    ['Huffman code with the EOS symbol', '0001 6184 ffff ffff'],
  ])('%s', (_name, block) => {
    expect(() => read(decoder(), hex(block))).toThrow(/^a header block with /)
  })
})

test('headers over the limit are decoded to the end but not kept', () => {
  const of = decoder(100)
  // One entry of 40 bytes, and then a thousand times what it takes two bytes to say.
  expect(read(of, Buffer.concat([hex('4001 6107 6162 6364 6566 67'), Buffer.alloc(1000, 0xbe)]))).toBeUndefined()
  expect(read(of, hex('be'))).toEqual(['a', 'abcdefg'])
})

const LISTS = [
  [':method', 'POST', ':scheme', 'http', ':authority', 'a.test', ':path', '/x', 'te', 'trailers', 'x-own', '1'],
  [':method', 'POST', ':scheme', 'http', ':authority', 'a.test', ':path', '/x', 'te', 'trailers', 'x-own', '1'],
  [':method', 'POST', ':scheme', 'http', ':authority', 'a.test', ':path', '/x', 'te', 'trailers', 'x-own', '1'],
  [':method', 'GET', ':scheme', 'https', ':authority', 'b.test', ':path', '/', 'accept', 'x'.repeat(300)],
  [':method', 'PUT', ':scheme', 'https', ':authority', 'a.test', ':path', '/x?secret', 'user-agent', '\xe9'],
  [':method', 'PUT', ':scheme', 'https', ':authority', 'a.test', ':path', '/x?secret', 'user-agent', '\xe9'],
]

describe('encoded headers', () => {
  test('are decoded correctly for any table size', () => {
    const encoder = new HpackEncoder()
    const of = decoder()
    for (const size of [4096, 100, 0, 60, 4096, 1e6]) {
      encoder.resize(size)
      for (const list of LISTS) expect(read(of, encoder.encode(list))).toEqual(list)
    }
  })

  test('use one byte per header from the third time on', () => {
    const encoder = new HpackEncoder()
    const sizes = LISTS.slice(0, 3).map(list => encoder.encode(list).length)
    expect(sizes[2]).toBe(6 + 'x-own1'.length + 2)
    expect(sizes[2]).toBeLessThan(sizes[0]!)
  })

  test('keep secrets and client-controlled values out of the table', () => {
    const encoder = new HpackEncoder()
    const list = ['authorization', 'Bearer abc', 'cookie', 'a=b', 'x-own', 'c', ':path', '/x?y=z']
    const blocks = [1, 2, 3].map(() => Buffer.from(encoder.encode(list)).toString('hex'))
    expect(new Set(blocks).size).toBe(1)
    // Never indexed: RFC 7541 section 6.2.3.
    expect(blocks[0]).toMatch(/^1f08/)
  })

  test('announce both sizes after the table has shrunk and grown again', () => {
    const encoder = new HpackEncoder()
    encoder.resize(0)
    encoder.resize(4096)
    expect(encoder.encode([':method', 'GET']).toString('hex')).toBe('203fe11f82')
    expect(encoder.encode([':method', 'GET']).toString('hex')).toBe('82')
  })
})

test('decodes headers of any byte that Node sends', async () => {
  const values = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).filter(
    char => char === '\t' || (char >= ' ' && char !== '\x7f'),
  )
  const server = net.createServer(socket => {
    socket.on('error', () => {}).write(frame(4, 0, 0, Buffer.alloc(0)))
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk)
      const [type, , from, to] = nthFrame(Buffer.concat(received), 1) ?? []
      if (type === 1) arrived.resolve(Buffer.concat(received).subarray(from, to))
    })
  })
  const arrived = Promise.withResolvers<Buffer>()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const session = http2.connect(`http://127.0.0.1:${(server.address() as net.AddressInfo).port}`)
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  session.on('error', () => {})
  const wanted = values.map(char => `${char.repeat(3)}x${char}x`)
  session.request({ ':path': '/', 'x-all': wanted }).on('error', () => {})
  const fields = read(decoder(), await arrived.promise)!
  expect(fields.filter((_, i) => fields[i - 1] === 'x-all')).toEqual(wanted)
})

/** Type, flags and payload of the first frame of the `type`, behind the preface. */
function nthFrame(bytes: Buffer, type: number): [number, number, number, number] | undefined {
  for (let at = 24; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    if (bytes[at + 3] === type && end <= bytes.length) return [type, bytes[at + 4]!, at + 9, end]
    at = end
  }
  return undefined
}
