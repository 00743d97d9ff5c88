import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCursor, encodeCursor } from '../../src/mcp/cursor.ts'
import { sealEventIds, unsealEventId } from '../../src/mcp/event-id.ts'
import { parseExact } from '../../src/mcp/exact-json.ts'
import { mergeIntroductions } from '../../src/mcp/initialize.ts'
import { outlineJson, replaceJson } from '../../src/mcp/json-outline.ts'
import { readMessage } from '../../src/mcp/message.ts'
import { prefixId, prefixName, prefixUri, splitId, splitName, splitUri } from '../../src/mcp/names.ts'
import { decodeSessionId, encodeSessionId } from '../../src/mcp/session-id.ts'

const target = fc.stringMatching(/^[a-z0-9]([-.a-z0-9]{0,10}[a-z0-9])?$/)

describe('names', () => {
  test('lose their target prefix unchanged', () => {
    fc.assert(
      fc.property(target, fc.string(), (where, name) => {
        expect(splitName(prefixName(where, name))).toEqual({ target: where, name })
        expect(splitUri(prefixUri(where, name))).toEqual({ target: where, name })
        expect(splitUri(prefixUri(where, `ui://${name}`))).toEqual({ target: where, name: `ui://${name}` })
      }),
    )
  })

  test('ids keep their type', () => {
    fc.assert(
      fc.property(target, fc.oneof(fc.string(), fc.maxSafeInteger()), (where, id) => {
        expect(splitId(prefixId(where, id))).toEqual({ target: where, name: Object.is(id, -0) ? 0 : id })
      }),
    )
  })

  test.each(['', '_x', 'plain', '+x'])('%j has no target', name => {
    expect(splitName(name)).toBeUndefined()
    expect(splitUri(name)).toBeUndefined()
  })

  test.each([
    'agw_a_n_1.5',
    'agw_a_n_',
    'agw_a_n_1e3',
    'agw_a_n_0x1',
    'agw_a_x_1',
    'agw__n_1',
    'agw_a_n_99999999999999999',
    1,
  ])('%j is not a gateway id', id => {
    expect(splitId(id)).toBeUndefined()
  })
})

describe('a JSON outline', () => {
  test('finds each value by its path, whatever surrounds it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'small' }), fc.string(), fc.boolean(), (value, name, pretty) => {
        const message = { jsonrpc: '2.0', before: value, params: { arguments: value, name, after: value }, id: 1 }
        const text = Buffer.from(JSON.stringify(message, null, pretty ? 2 : 0))
        const { ranges, problem } = outlineJson(text)
        expect(problem).toBeUndefined()
        const range = ranges.get('params.name')
        expect(JSON.parse(text.toString('utf8', range?.start, range?.end))).toBe(name)
        const replaced = JSON.parse(replaceJson(text, range ?? { start: 0, end: 0 }, 'other').toString())
        expect(replaced).toEqual(
          JSON.parse(JSON.stringify({ ...message, params: { ...message.params, name: 'other' } })),
        )
      }),
    )
  })

  test('rejects nesting too deep for other parsers', () => {
    const nested = (depth: number) => Buffer.from(`{"params":${'['.repeat(depth)}${']'.repeat(depth)}}`)
    expect(outlineJson(nested(128)).problem).toBeUndefined()
    expect(outlineJson(nested(129)).problem).toBe('nested too deep')
  })

  test('ignores duplicate members inside tool arguments', () => {
    const text = '{"params":{"arguments":{"a":1,"A":2,"a":3}}}'
    expect(outlineJson(Buffer.from(text)).problem).toBeUndefined()
  })
})

describe('a message', () => {
  test('with invalid JSON is not echoed in the error', () => {
    const read = readMessage(Buffer.from('{"token":"sk-secret"'))
    expect(read).toMatchObject({ kind: 'unreadable' })
    expect(JSON.stringify(read)).not.toContain('sk-secret')
  })

  test.each([
    ['{"jsonrpc":"2.0","id":1,"result":null}', 'response'],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}', 'response'],
    ['{"jsonrpc":"2.0","id":1}', 'unreadable'],
    ['{"jsonrpc":"2.0","id":1.5,"method":"x"}', 'unreadable'],
    ['{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}', 'unreadable'],
    ['null', 'unreadable'],
  ])('%s is parsed as %s', (text, kind) => {
    expect(readMessage(Buffer.from(text)).kind).toBe(kind)
  })

  test('keeps all digits of long numbers when serialized again', () => {
    const text = '{"a":9223372036854775807,"b":[1.00000000000000000001,"9223372036854775807"],"c":1}'
    expect(JSON.stringify(parseExact(text))).toBe(text)
  })
})

describe('cursors', () => {
  test('decode to what was encoded', () => {
    fc.assert(
      fc.property(fc.dictionary(target, fc.string(), { minKeys: 1 }), cursors => {
        const map = new Map(Object.entries(cursors))
        expect(decodeCursor(encodeCursor(map))).toEqual(map)
      }),
    )
  })

  test('arbitrary text never throws', () => {
    fc.assert(fc.property(fc.string(), text => decodeCursor(text) === undefined || true))
    expect(encodeCursor(new Map())).toBeUndefined()
  })
})

describe('session ids', () => {
  const state = {
    targets: [
      { name: 'a', session: 's-1', stateless: false },
      { name: 'b', session: undefined, stateless: true },
    ],
    nonce: 'n',
    backend: 'ns/b',
    principal: 'p',
    client: { capabilities: { sampling: {} }, clientInfo: { name: 'c', version: '1' } },
  }
  const key = Buffer.alloc(32, 1)

  test('decode to what was encoded', () => {
    expect(decodeSessionId(encodeSessionId(state, key), key)).toEqual(state)
  })

  test('are visible ASCII', () => {
    expect(encodeSessionId(state, key)).toMatch(/^[\x21-\x7e]+$/)
  })

  test('with another key, a changed character or arbitrary text are rejected', () => {
    const id = encodeSessionId(state, key)
    expect(decodeSessionId(id, Buffer.alloc(32, 2))).toBeUndefined()
    fc.assert(
      fc.property(fc.nat(id.length - 1), at => {
        const changed = id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1)
        expect(decodeSessionId(changed, key)).toBeUndefined()
      }),
    )
    fc.assert(fc.property(fc.string(), text => decodeSessionId(text, key) === undefined))
  })
})

describe('forwarded event ids', () => {
  const signing = { session: 's', key: Buffer.alloc(32, 1) }
  const stream =
    'id:\nid: a\r\ndata: {"id":1,"x":"id: b"}\n\nevent: id: c\ndata: id\r\rid:d\rdata: i\n\nid: e f\ndata: \n\n'
  const sealed = (text: string, size: number) => {
    const seal = sealEventIds(signing)
    const parts = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    return parts.map(part => seal(Buffer.from(part)).toString()).join('')
  }

  test('are sealed however the stream is split, with nothing else changed', () => {
    const whole = sealed(stream, stream.length)
    for (let size = 1; size < stream.length; size++) expect(sealed(stream, size)).toBe(whole)
    expect(whole.replace(/\.[\w-]{16}(?=[\r\n])/g, '')).toBe(stream.replace('id:d', 'id: d'))
    const ids = [...whole.matchAll(/^id: (.*)$/gm)].flatMap(([, id = '']) => id.split('\r', 1))
    expect(ids.map(id => unsealEventId(id, signing))).toEqual(['a', 'd', 'e f'])
    expect(unsealEventId(ids[0] ?? '', { ...signing, session: 't' })).toBeUndefined()
    for (const id of ['', 'a', '.', 'a.', `a${ids[0]?.slice(1)}x`]) expect(unsealEventId(id, signing)).toBeUndefined()
  })
})

describe('merged initialize results', () => {
  const merge = (stateful: boolean) =>
    JSON.parse(
      mergeIntroductions(
        1,
        [
          {
            target: 'a',
            result: {
              protocolVersion: '2025-06-18',
              capabilities: { tools: { listChanged: true } },
              instructions: 'A',
            },
          },
          {
            target: 'b',
            result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: { subscribe: true } } },
          },
        ],
        { clientVersion: '2025-11-25', stateful, only: false },
      ),
    ).result

  test('announce the capabilities of any target and the oldest version', () => {
    const result = merge(true)
    expect(result.protocolVersion).toBe('2025-06-18')
    expect(result.capabilities).toEqual({ tools: { listChanged: true }, resources: { subscribe: true } })
    expect(result.instructions).toMatch(/\n\n\[a\]\nA$/)
    expect(result.serverInfo.name).toBe('gwctl')
  })

  test('announce no unsolicited notifications without a session', () => {
    expect(merge(false).capabilities).toEqual({ tools: {}, resources: {} })
  })
})
