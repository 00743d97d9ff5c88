/** A place that can be filled with text of any length, and what that costs. */
export interface Place {
  readonly name: string
  /** bytes: what the place takes at most, or enough of it to see how the cost grows. */
  readonly bound: number
  /** It takes what it is filled with for a number only: one filling says it all. */
  readonly counts?: boolean
  /** Some processor time in ns, of one use of the place with `text` in it. */
  cost(text: string): Promise<number>
}

const SINGLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
const CONTROL = ['\0', '\t', '\n', '\r', '\u007f', '\u0080', '\u00ff']
/** What parsers look for in twos and threes. */
const PAIRS = [
  ...[
    '\r\n',
    'a,',
    'a=',
    'a;',
    'a.',
    'a/',
    'a:',
    'a ',
    'a-',
    'a&',
    'a=b;',
    'a=b&',
    'a=b,',
    'a: b\n',
    '/.',
    '/..',
    '//',
  ],
  ...[
    '%2f',
    '%2e',
    '%',
    '%61',
    '\\"',
    '""',
    '"a"',
    '""a',
    '[{',
    '{"a":',
    '[]',
    '{}',
    '{},',
    '[],',
    '0,',
    '1e',
    '0.',
    '\\u0041',
    '\\ud800',
  ],
  ...[
    '${',
    '$$',
    '#{',
    '{{',
    '- ',
    '? ',
    '&a ',
    '*a ',
    '!a ',
    '---\n',
    '...\n',
    '# \n',
    '\n ',
    '\n\n',
    ' \n',
    'é',
    '\ud83d\ude00',
    ';q=0,',
    'W/"a",',
  ],
  ...[
    'data: a\n',
    'data:\n\n',
    ': \n',
    'id: 1\n',
    'a\r',
    '(a',
    '(a)',
    'a|',
    'a*',
    '.*',
    'a+',
    '[a',
    'x{2}',
    '!',
    '!-',
    'a?b:',
    'a.b.',
    'a[0]',
    '"+"',
    "'a'+",
    'a&&',
    'a||',
  ],
]

/** What has cost most where anything did. */
const FEW = [
  'a',
  '/',
  '.',
  ',',
  ';',
  '"',
  '\\',
  '%',
  ' ',
  '\n',
  '\r\n',
  '[',
  '{',
  '(',
  '*',
  '\u00ff',
  'a,',
  'a=b;',
  '/..',
  '[{',
]

export type Fillings = 'few' | 'many' | 'every'

/** What places are filled with. `every`: each byte there is. */
export function fills(which: Fillings): readonly string[] {
  if (which === 'few') return FEW
  const bytes = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i))
  return [...new Set([...(which === 'every' ? bytes : [...SINGLE, ...CONTROL]), ...PAIRS])]
}

/** `fill` over and over, `size` characters of it. */
export function filled(fill: string, size: number): string {
  return fill.repeat(Math.ceil(size / fill.length)).slice(0, size)
}
