import { describe, expect, it } from 'vitest'
import { parseSource } from '../../src/diagnostics/source.ts'
import { expandVariables } from '../../src/diagnostics/source-env.ts'
import { Placeholder } from '../../src/schema/placeholder.ts'
import { processorTime } from '../helpers/processor-time.ts'

const env = { PORT: '8080', NAME: 'x', FLAG: 'no', EMPTY: '', INJECT: 'a\nb: {c: 1}', DOLLAR: '$NAME', _A1: 'u' }

const read = (text: string): unknown => {
  const source = parseSource('f.yaml', text, { env })
  expect(source.diagnostics).toEqual([])
  return source.documents[0]?.value
}

describe('expansion', () => {
  it.each([
    ['$NAME', 'x'],
    ['${NAME}', 'x'],
    ['a$NAME.b${NAME}c', 'ax.bxc'],
    ['$_A1', 'u'],
    ['$$NAME', '$NAME'],
    ['$$$NAME', '$x'],
    ['$', '$'],
    ['^a$', '^a$'],
    ['$1 $. $$', '$1 $. $'],
    ['${GONE:-default}', 'default'],
    ['${EMPTY:-default}', 'default'],
    ['${NAME:-default}', 'x'],
    ['${GONE:-}', ''],
    ['${GONE:-a:-b $NAME}', 'a:-b $NAME'],
    ['$DOLLAR', '$NAME'],
  ])('%s', (text, expanded) => {
    expect(expandVariables(text, env)).toEqual({ text: expanded, changed: text !== expanded })
  })

  it('reports the first variable without a value, and never one of Object.prototype', () => {
    expect(expandVariables('a ${GONE} $LOST', env).missing).toEqual({ name: 'GONE', start: 2, end: 9 })
    expect(expandVariables('$toString $__proto__', {}).missing).toEqual({ name: 'toString', start: 0, end: 9 })
  })

  it.each(['${', '${}', '${1}', '${NAME-x}', '${NAME', '${NAME:?x}', '${ NAME }'])('%s is malformed', text => {
    expect(expandVariables(`a ${text}`, env).malformed).toMatchObject({ start: 2 })
  })

  it('takes linear time', () => {
    const took = processorTime(() => {
      expandVariables('${A:-'.repeat(200_000), env)
      expandVariables(`${'${A:-'.repeat(200_000)}}`, env)
    })
    expect(took).toBeLessThan(1000)
  })
})

describe('variables in a file', () => {
  it('are re-parsed in plain scalars and stay text in quoted ones', () => {
    expect(read('a: $PORT\nb: "$PORT"\nc: \'${PORT}\'\nd: $FLAG\ne: $EMPTY\nf: 1$PORT\ng: |\n  $PORT\n')).toEqual({
      a: 8080,
      b: '8080',
      c: '8080',
      d: 'no',
      e: null,
      f: 18080,
      g: '8080\n',
    })
  })

  it('cannot inject structure', () => {
    expect(read('a: $INJECT\nb: [$INJECT]\n')).toEqual({ a: env.INJECT, b: [env.INJECT] })
  })

  it('are not expanded in keys and comments', () => {
    expect(read('# $GONE ${\n$NAME: 1 # $GONE\n"$PORT": 2\n&a $NAME2: *a\n')).toEqual({
      $NAME: 1,
      $PORT: 2,
      $NAME2: '$NAME2',
    })
  })

  it('are not expanded without an environment', () => {
    const source = parseSource('f.yaml', 'a: $PORT\nb: $$\nc: ${\n')
    expect(source.diagnostics).toEqual([])
    expect(source.documents[0]?.value).toEqual({ a: '$PORT', b: '$$', c: '${' })
  })

  it('become placeholders when unset', () => {
    expect(read('a: Bearer $GONE $NAME\nb: ["${LOST}"]\n')).toEqual({
      a: new Placeholder('GONE', 'Bearer $GONE $NAME'),
      b: [new Placeholder('LOST', '${LOST}')],
    })
  })

  it('can be errors when unset, with the position in the scalar and no values', () => {
    const text = 'a: "\\t${PROT}"\nb: 1\nc: ${SOMETHING_ELSE}\n'
    const { diagnostics, documents } = parseSource('f.yaml', text, { env, unset: 'error' })
    expect(
      diagnostics.map(d => [d.code, text.slice(d.range.start.offset, d.range.end.offset), d.path, d.help]),
    ).toEqual([
      ['GW205', '${PROT}', 'a', 'did you mean `PORT`?'],
      ['GW205', '${SOMETHING_ELSE}', 'c', 'set it, or give a default: `${SOMETHING_ELSE:-default}`'],
    ])
    expect(JSON.stringify(diagnostics)).not.toContain('8080')
    expect((documents[0]!.value as { a: unknown }).a).toBeInstanceOf(Placeholder)
  })

  it('are reported when malformed, whatever `unset` says', () => {
    const text = 'a: x ${NAME-y} z\n'
    const { diagnostics } = parseSource('f.yaml', text, { env })
    expect(diagnostics).toMatchObject([{ code: 'GW205', help: expect.stringContaining('`$$`') }])
    const { start, end } = diagnostics[0]!.range
    expect(text.slice(start.offset, end.offset)).toBe('${NAME-y}')
  })

  it('trigger ambiguity warnings only for text in the file, not for their values', () => {
    expect(parseSource('f.yaml', 'a: $FLAG\n', { env }).diagnostics).toEqual([])
  })
})
