import { expect, test } from 'vitest'
import { keepChunk } from '../../src/http/keep-chunk.ts'
import { SseReader } from '../../src/http/sse.ts'

test.each([
  ['one byte', [1], 200_000],
  ['one byte with an occasional block', [1, 1, 1, 9000], 20_000],
  ['64 small chunks and a large one', [...Array.from({ length: 64 }, () => 3), 5000], 50_000],
  ['4095 bytes (still small)', [4095], 2000],
])('%s at a time uses few Buffers and loses no byte', (_what, sizes, times) => {
  const chunks: Buffer[] = []
  const all: Buffer[] = []
  let size = 0
  for (let i = 0; i < times; i++) {
    const chunk = Buffer.alloc(sizes[i % sizes.length]!, i % 251)
    all.push(chunk)
    size += chunk.length
    keepChunk(chunks, chunk)
  }
  expect(Buffer.concat(chunks).equals(Buffer.concat(all))).toBe(true)
  // Small ones stand in front of what they were joined to, 63 at most each time.
  expect(chunks.length).toBeLessThan(size / 2000 + 200)
})

test('an event with a million empty lines is joined into one text', () => {
  const seen: number[] = []
  const parser = new SseReader(4_000_000, ({ data }) => seen.push(data.length))
  const lines = Buffer.from('data\n'.repeat(1000))
  for (let i = 0; i < 1000; i++) parser.push(lines)
  parser.push(Buffer.from('\n'))
  expect(seen).toEqual([999_999])
})
