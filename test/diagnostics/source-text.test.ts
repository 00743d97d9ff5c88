import { describe, expect, it } from 'vitest'
import { readText } from '../../src/diagnostics/source.ts'
import { createLines } from '../../src/diagnostics/source-text.ts'

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

describe('reading bytes', () => {
  it.each([
    ['UTF-8', Buffer.from('a: é😀')],
    ['UTF-8 with a byte order mark', Buffer.from('\uFEFFa: é😀')],
    ['UTF-16 LE with a byte order mark', Buffer.from('\uFEFFa: é😀', 'utf16le')],
    ['UTF-16 BE with a byte order mark', utf16be('\uFEFFa: é😀')],
    ['UTF-16 LE without a byte order mark', Buffer.from('a: é😀', 'utf16le')],
    ['UTF-16 BE without a byte order mark', utf16be('a: é😀')],
  ])('accepts %s', (_name, bytes) => {
    expect(readText(bytes)).toEqual({ text: 'a: é😀' })
  })

  it('distinguishes binary files from badly encoded ones', () => {
    expect(readText(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 1, 0xff]))).toEqual({ problem: 'binary' })
    expect(readText(Buffer.from('a: \0'))).toEqual({ problem: 'binary' })
    expect(readText(Buffer.from([0x61, 0x3a, 0x20, 0xe9]))).toEqual({ problem: 'encoding' })
    expect(readText(Buffer.from([0xff, 0xfe, 0x00, 0xd8]))).toMatchObject({ problem: expect.any(String) })
    expect(readText(Buffer.alloc(0))).toEqual({ text: '' })
  })
})

describe('lines', () => {
  it('counts lines and columns from 1, also with CRLF, and clamps', () => {
    const lines = createLines('ab\r\nc\n')
    expect(lines.position(0)).toEqual({ line: 1, col: 1, offset: 0 })
    expect(lines.position(4)).toEqual({ line: 2, col: 1, offset: 4 })
    expect(lines.position(6)).toEqual({ line: 3, col: 1, offset: 6 })
    expect(lines.position(99)).toEqual({ line: 3, col: 1, offset: 6 })
    expect(lines.range(5, 2)).toEqual({ start: lines.position(5), end: lines.position(5) })
  })
})
