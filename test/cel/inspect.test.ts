import { expect, test } from 'vitest'
import { inspectExpression } from '../../src/cel/inspect.ts'

function partsOf(text: string) {
  return inspectExpression(text, 'request').map(part => part.text)
}

test.each<[string, string[]]>([
  ['request.path', ['request.path']],
  ['1 + 2', ['1 + 2']],
  ['request.headers["x"] == "b"', ['request.headers["x"]', 'request.headers["x"] == "b"']],
  // Each part once, and those that lead to another are not worth a line.
  ['jwt.a.b == jwt.a.b', ['jwt.a.b', 'jwt.a.b == jwt.a.b']],
  // What is computed is.
  ['json(request.body).a.b', ['request.body', 'json(request.body)', 'json(request.body).a.b']],
  ['[1].map(x, x)[0]', ['[1].map(x, x)', '[1].map(x, x)[0]']],
  // The loop's variable has no value by itself.
  [
    'jwt.roles.exists(r, r == jwt.role && r != "a")',
    ['jwt.roles', 'jwt.role', 'jwt.roles.exists(r, r == jwt.role && r != "a")'],
  ],
  [
    'jwt.a.exists(r, jwt.b.all(s, s == r) || jwt.c.all(t, t == 1))',
    [
      'jwt.a',
      'jwt.b',
      'jwt.c',
      'jwt.c.all(t, t == 1)',
      'jwt.a.exists(r, jwt.b.all(s, s == r) || jwt.c.all(t, t == 1))',
    ],
  ],
  // What `has` asks for may be missing.
  ['has(jwt.a) || true', ['has(jwt.a)', 'has(jwt.a) || true']],
  // Parentheses, also in text, stand on both sides.
  [
    '(request.path + ")").size() > ((1))',
    ['request.path', 'request.path + ")"', '(request.path + ")").size()', '(request.path + ")").size() > ((1))'],
  ],
  ['!(jwt.a in [jwt.b])', ['jwt.a', 'jwt.b', 'jwt.a in [jwt.b]', '!(jwt.a in [jwt.b])']],
  ['.5 + double(jwt.n)', ['jwt.n', 'double(jwt.n)', '.5 + double(jwt.n)']],
])('%s', (text, parts) => {
  expect(partsOf(text)).toEqual(parts)
})

test('reports types, and positions in the original text', () => {
  expect(inspectExpression('.5 < double(request.path)', 'request')).toEqual([
    { text: 'request.path', span: [12, 24], type: 'string' },
    { text: 'double(request.path)', span: [5, 25], type: 'double' },
    { text: '.5 < double(request.path)', span: [0, 25], type: 'bool' },
  ])
})

test('ignores surrounding white space but keeps positions correct', () => {
  expect(inspectExpression('\n  jwt.a == 1 ', 'request').map(({ span }) => span)).toEqual([
    [3, 8],
    [3, 13],
  ])
})
