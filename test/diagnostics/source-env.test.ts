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

  it('names the first variable without a value, and never one of Object.prototype', () => {
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
  it('re-reads plain scalars and leaves quoted ones text', () => {
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

  it('leaves keys and comments alone', () => {
    expect(read('# $GONE ${\n$NAME: 1 # $GONE\n"$PORT": 2\n&a $NAME2: *a\n')).toEqual({
      $NAME: 1,
      $PORT: 2,
      $NAME2: '$NAME2',
    })
  })

  it('does nothing without an environment', () => {
    const source = parseSource('f.yaml', 'a: $PORT\nb: $$\nc: ${\n')
    expect(source.diagnostics).toEqual([])
    expect(source.documents[0]?.value).toEqual({ a: '$PORT', b: '$$', c: '${' })
  })

  it('puts a placeholder for an unset variable', () => {
    expect(read('a: Bearer $GONE $NAME\nb: ["${LOST}"]\n')).toEqual({
      a: new Placeholder('GONE', 'Bearer $GONE $NAME'),
      b: [new Placeholder('LOST', '${LOST}')],
    })
  })

  it('or reports it, with the place inside the scalar and no values', () => {
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

  it('reports a reference that is none, whatever `unset` says', () => {
    const text = 'a: x ${NAME-y} z\n'
    const { diagnostics } = parseSource('f.yaml', text, { env })
    expect(diagnostics).toMatchObject([{ code: 'GW205', help: expect.stringContaining('`$$`') }])
    const { start, end } = diagnostics[0]!.range
    expect(text.slice(start.offset, end.offset)).toBe('${NAME-y}')
  })

  it('warns of ambiguity in what the file says, not in what a variable holds', () => {
    expect(parseSource('f.yaml', 'a: $FLAG\n', { env }).diagnostics).toEqual([])
  })
})
