import fc from 'fast-check'
import protobuf from 'protobufjs'
import { expect, test } from 'vitest'
import { encodeLog, encodeSpan, exportRequest } from '../../src/protobuf/otlp.ts'
import { OTLP_PROTO } from './otlp-messages.ts'

const messages = protobuf.parse(OTLP_PROTO).root

type Plain = Record<string, unknown>

function decoded(type: string, bytes: Uint8Array): Plain {
  const message = messages.lookupType(`otlp.${type}`)
  return message.toObject(message.decode(bytes), { longs: String, bytes: Array })
}

/** An attribute's value as the protocol would hold it, written down by other means. */
function expected(value: unknown): Plain {
  if (typeof value === 'string') return { stringValue: Buffer.from(value, 'utf8').toString('utf8') }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'bigint') {
    return BigInt.asIntN(64, value) === value ? { intValue: value.toString() } : { stringValue: value.toString() }
  }
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? { intValue: String(Object.is(value, -0) ? 0 : value) } : { doubleValue: value }
  }
  if (value === null) return {}
  if (value instanceof Uint8Array) return { bytesValue: [...value] }
  if (Array.isArray(value)) return { arrayValue: value.length === 0 ? {} : { values: value.map(expected) } }
  const values = Object.entries(value as Plain).map(([key, item]) => ({ key, value: expected(item) }))
  return { kvlistValue: values.length === 0 ? {} : { values } }
}

const value = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.boolean(),
    fc.double(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }),
    fc.constant(null),
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie('any'), { maxLength: 5 }),
    fc.dictionary(fc.string({ minLength: 1 }), tie('any'), { maxKeys: 5, noNullPrototype: true }),
  ),
})).any

test('any expression result is encoded without loss', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ minLength: 1 }), value), { maxLength: 6 }), attributes => {
      const log = encodeLog({ time: 1, observed: 1, trace: undefined, attributes })
      const all = attributes.map(([key, item]) => ({ key, value: expected(item) }))
      expect(decoded('LogRecord', log).attributes ?? []).toEqual(all)
    }),
    { numRuns: 300 },
  )
})

test.each([0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 2_097_151, 2_097_152])('text of %d bytes', size => {
  const text = 'x'.repeat(size)
  const log = encodeLog({ time: 1, observed: 1, trace: undefined, attributes: [['a', [text, text]]] })
  expect(decoded('LogRecord', log).attributes).toEqual([{ key: 'a', value: expected([text, text]) }])
})

test('encodes a span field by field', () => {
  const span = encodeSpan({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    parentId: '00f067aa0ba902b7',
    remoteParent: true,
    state: 'vendor=1',
    name: 'GET /é',
    kind: 'client',
    start: 1_768_480_245_250.25,
    duration: 0.75,
    attributes: [],
    error: 'broken',
  })
  expect(decoded('Span', span)).toEqual({
    traceId: [...Buffer.from('0af7651916cd43dd8448eb211c80319c', 'hex')],
    spanId: [...Buffer.from('b7ad6b7169203331', 'hex')],
    parentSpanId: [...Buffer.from('00f067aa0ba902b7', 'hex')],
    traceState: 'vendor=1',
    name: 'GET /é',
    kind: 3,
    startTimeUnixNano: '1768480245250250000',
    endTimeUnixNano: '1768480245251000000',
    status: { message: 'broken', code: 2 },
    flags: 0x301,
  })
})

test('an export keeps its records in order under one resource and scope', () => {
  const logs = ['a', 'b'].map(name => encodeLog({ time: 1, observed: 2, trace: undefined, attributes: [[name, 1]] }))
  const request = exportRequest({ resource: [['service.name', 'x']], scope: { name: 'request', version: '1' } }, logs)
  const record = (key: string) => ({
    timeUnixNano: '1000000',
    observedTimeUnixNano: '2000000',
    severityNumber: 9,
    severityText: 'INFO',
    attributes: [{ key, value: { intValue: '1' } }],
  })
  expect(decoded('ExportLogsServiceRequest', request)).toEqual({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'x' } }] },
        scopeLogs: [{ scope: { name: 'request', version: '1' }, logRecords: [record('a'), record('b')] }],
      },
    ],
  })
})
