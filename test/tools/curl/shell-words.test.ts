import { expect, test } from 'vitest'
import { shellWords } from '../../../src/tools/curl/shell-words.ts'

test.each<[string, string[]]>([
  ['', []],
  ['curl \'http://h/a b\' -H "x: \\"y\\" $z"', ['curl', 'http://h/a b', '-H', 'x: "y" $z']],
  ['curl h \\\n  -d a\\ b \\\r\n -s', ['curl', 'h', '-d', 'a b', '-s']],
  ['# saved\n# today\ncurl h', ['curl', 'h']],
  ["-d '\n# not a comment\n'", ['-d', '\n# not a comment\n']],
  ["$'it\\'s \\u0021\\n\\x41'", ["it's !\nA"]],
  [`a'b'"c"\\d`, ['abcd']],
  ["''", ['']],
  ['a$b$', ['a$b$']],
])('%j', (text, words) => {
  expect(shellWords(text, 'a file')).toEqual(words)
})

test.each(["curl 'h", 'curl "h', "curl $'h", 'curl h\\'])('%j has an unterminated quote', text => {
  expect(() => shellWords(text, 'saved.sh')).toThrow('saved.sh is not a command: a quote in it does not end.')
})
