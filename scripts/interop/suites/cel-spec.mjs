// The conformance cases of the CEL specification through src/cel: what an expression gives, and that wrong ones fail.
import { readdirSync, readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { Optional } from '@marcbachmann/cel-js'
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { compileOver } from '../../../src/cel/condition.ts'
import { missingData, suiteFolder } from '../shared-suites.mjs'
import { parseTextproto } from '../textproto.mjs'

export const name = 'cel-spec'
export const title = 'CEL specification (google/cel-spec, tests/simple), against the expressions of gwctl'

export async function needs() {
  return missingData('cel-spec')
}

export async function run() {
  const outcome = { passed: 0, known: [], failed: [] }
  let messages = 0
  const folder = suiteFolder('cel-spec')
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith('.textproto')) continue
    for (const test of casesOf(readFileSync(folder + file, 'utf8'))) {
      if (needsMessages(test)) {
        messages++
        continue
      }
      const id = `${file.replace('.textproto', '')}/${test.section}/${test.name}`
      const problem = tryCase(test)
      const reason = problem && DIFFERENCES.find(([applies]) => applies({ id, expr: test.expr, problem }))?.[1]
      if (problem === undefined) outcome.passed++
      else if (reason !== undefined) outcome.known.push({ case: id, reason })
      else outcome.failed.push({ case: `${id}: ${test.expr}`, reason: problem })
    }
  }
  if (messages > 0) outcome.known.push({ case: `${messages} cases`, reason: 'they need messages of protocol buffers' })
  return outcome
}

function* casesOf(text) {
  for (const section of parseTextproto(text).get('section') ?? []) {
    for (const test of section.get('test') ?? []) {
      yield { section: textOf(section, 'name'), name: textOf(test, 'name'), expr: textOf(test, 'expr'), test }
    }
  }
}

function textOf(message, field) {
  return message.get(field)?.[0]?.value.toString() ?? ''
}

/** What is wrong with our answer; undefined when it is right. */
function tryCase({ expr, test }) {
  const bindings = new Map()
  for (const binding of test.get('bindings') ?? []) {
    const [value] = binding.get('value')[0].get('value') ?? []
    if (value === undefined) return 'the binding is not a value'
    bindings.set(textOf(binding, 'key'), readValue(value))
  }
  const declared = (test.get('type_env') ?? []).map(each => textOf(each, 'name'))
  const wanted = wantedOf(test)
  const made = compileOver(expr, [...new Set([...bindings.keys(), ...declared])], {
    result: 'any',
    read: value => value,
    convert: value => ({ ok: true, value }),
  })
  if ('problem' in made) {
    if (wanted === FAILS && !/unknown (function|method|variable)/.test(made.problem.message)) return undefined
    return `refused: ${made.problem.message}`
  }
  const outcome = made.evaluate(Object.fromEntries(bindings))
  if (wanted === FAILS) return outcome.ok ? `gives ${show(outcome.value)} and should fail` : undefined
  if (wanted === undefined) return undefined
  if (!outcome.ok) return `fails: ${outcome.error}`
  return same(outcome.value, wanted) ? undefined : `gives ${show(outcome.value)}, not ${show(wanted)}`
}

const FAILS = Symbol('fails')

function wantedOf(test) {
  if (test.has('eval_error') || test.has('any_eval_errors')) return FAILS
  if (test.has('typed_result')) {
    const [result] = test.get('typed_result')[0].get('result') ?? []
    return result && readValue(result)
  }
  return test.has('value') ? readValue(test.get('value')[0]) : true
}

class Unsupported {
  constructor(what) {
    this.what = what
  }
}

function readValue(message) {
  const [[kind, [value]]] = [...message]
  switch (kind) {
    case 'null_value':
      return null
    case 'bool_value':
      return value.value === 'true'
    case 'int64_value':
      return BigInt(value.value)
    case 'uint64_value':
      return new UnsignedInt(BigInt(value.value))
    case 'double_value':
      return doubleOf(value.value)
    case 'string_value':
      return value.value.toString()
    case 'bytes_value':
      return value.value
    case 'list_value':
      return (value.get('values') ?? []).map(readValue)
    case 'map_value':
      return new Map(
        (value.get('entries') ?? []).map(entry => [readValue(entry.get('key')[0]), readValue(entry.get('value')[0])]),
      )
    case 'type_value':
      return new TypeName(value.value.toString())
    case 'object_value':
      return objectOf(value)
  }
  return new Unsupported(kind)
}

class TypeName {
  constructor(name) {
    this.name = name
  }
}

function doubleOf(text) {
  const word = /^(-?)(inf|infinity|nan)$/i.exec(text)
  if (!word) return Number(text.replace(/f$/, ''))
  return word[2].toLowerCase() === 'nan' ? Number.NaN : word[1] ? -Infinity : Infinity
}

function objectOf(message) {
  const [[type, [fields]]] = [...message]
  const number = field => fields.get(field)?.[0]?.value ?? '0'
  if (type.endsWith('/google.protobuf.Duration]'))
    return new Duration(BigInt(number('seconds')), Number(number('nanos')))
  if (type.endsWith('/google.protobuf.Timestamp]'))
    return new Instant(BigInt(number('seconds')), Number(number('nanos')))
  return new Unsupported(type)
}

class Instant {
  constructor(seconds, nanos) {
    this.nanos = seconds * 1_000_000_000n + BigInt(nanos)
  }
}

function nanosOf(date) {
  return BigInt(date.getTime()) * 1_000_000n + BigInt(date.nanos ?? 0)
}

/** Types count: `1` is not `1.0`. */
function same(a, b) {
  if (b instanceof Instant) return a instanceof Date && nanosOf(a) === b.nanos
  if (b instanceof TypeName) return typeName(a) === b.name
  if (typeof a === 'number' || typeof a === 'bigint' || typeof a === 'string') return Object.is(a, b)
  if (a instanceof UnsignedInt) return b instanceof UnsignedInt && a.value === b.value
  if (a instanceof Duration) return b instanceof Duration && a.seconds === b.seconds && a.nanos === b.nanos
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]))
  if (a instanceof Map) {
    if (!(b instanceof Map) || a.size !== b.size) return false
    return [...a].every(([key, value]) => [...b].some(([k, v]) => same(key, k) && same(value, v)))
  }
  return a === b
}

const TYPE_NAMES = { null: 'null_type', optional: 'optional_type' }

function typeName(type) {
  const own = type?.name
  return TYPE_NAMES[own] ?? own
}

function show(value) {
  if (value instanceof Optional) return `optional(${value.hasValue() ? show(value.value()) : ''})`
  if (value instanceof Map) return `{${[...value].map(([k, v]) => `${show(k)}: ${show(v)}`).join(', ')}}`
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (value instanceof UnsignedInt) return `${value.value}u`
  if (typeof value === 'number') return Object.is(value, -0) ? '-0.0' : `${value}d`
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Duration) return `duration(${value.seconds}s ${value.nanos}ns)`
  if (value instanceof Instant) return `timestamp(${value.nanos}ns)`
  if (value instanceof Date) return `timestamp(${value.toISOString()} ${value.nanos ?? ''})`
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('hex')})`
  if (value instanceof TypeName) return `type ${value.name}`
  if (value instanceof Unsupported) return `a ${value.what}`
  return typeof value === 'object' && value !== null
    ? `a ${value.constructor?.name} ${value.name ?? ''}`
    : JSON.stringify(value)
}

/** Why our answer differs, first reason first. */
const DIFFERENCES = [
  [({ id }) => id.startsWith('block_ext/'), '`cel.block` is for optimizers: not offered'],
  [({ id }) => id.startsWith('macros2/'), 'macros with two variables are not offered'],
  [({ expr }) => /\bstrings\.quote\(|\.format\(/.test(expr), '`format` and `strings.quote` are not offered'],
  [({ expr }) => expr.includes('}.`'), 'names in back-quotes are not offered'],
  [({ expr }) => /[{[,]\s*\?/.test(expr), 'optional entries of lists and maps are not offered'],
  [
    ({ expr }) => /optional_type|optional\.none\(\)(\[|\.\?|\}\.foo\.)/.test(expr),
    'an empty optional has no type to look into',
  ],
  [({ expr }) => /isCanonical|net\.(IP|CIDR)/.test(expr), '`ip.isCanonical`, `net.IP` and `net.CIDR` are not offered'],
  [
    ({ id }) => /^namespace\/|^fields\/qualified_identifier/.test(id),
    'variables have plain names, and there are no containers',
  ],
  [({ expr }) => /\b(tuple|sort|fn)\(/.test(expr), 'needs functions that the case declares'],
  [
    ({ problem }) => /^refused: (unknown (field|function|method)|.* are never equal|`&&` and `\|\|`)/.test(problem),
    'names and types are checked when the expression is read',
  ],
]

const MESSAGES =
  /TestAllTypes|GlobalEnum|NestedEnum|NestedMessage|google\.protobuf\.(?!Timestamp|Duration)|proto\.(has|get)Ext|proto[23]|[A-Za-z0-9]*Value\{|enum_value/

function needsMessages({ expr, test }) {
  return MESSAGES.test(`${expr} ${textOf(test, 'container')} ${inspect(test, { depth: null })}`)
}
