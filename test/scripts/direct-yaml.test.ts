import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import * as yaml from 'yaml'
import { direct, directYaml } from '../../scripts/direct-yaml.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const FIXTURES = readdirSync(`${root}fixtures`, { recursive: true, encoding: 'utf8' })
  .filter(path => /\.(?:ya?ml|jsonc?)$/.test(path))
  .sort()

/** One of each construct, among them those that the library reports as mistakes. */
const CONSTRUCTS = [
  '',
  '\n\n# only a comment\n',
  '\uFEFFa: 1\r\nb: 2\r\n',
  '%YAML 1.2\n%TAG ! tag:x,2000:\n---\na: !x 1\n...\n---\nb\n--- |\n text\n',
  'a: &a {x: 1, "y": [1, 2, {z}], ? k : v, : w}\nb: *a\n<<: *a\n',
  "a: |2-\n   two\n\n  one\n\nb: >+\n folded\n  more\n\n\nc: 'it''s\n  long'\nd: \"q\\\"\n\n  \\x41\"\n",
  '? - k\n  - l\n: - v\n? only\n- bad\n',
  'a:\n  - 1\n b: 2\nc: [1, 2\nd: }\n',
  'a: {x: 1,\n]\n---\nb: "open\n',
  'a: - b\nc: d: e\n\t- f\n@g\n`h\n*i j\n!<tag:x> k\n!e%41 l\n& m\n',
  '- - - a\n  - b\n-\n  # c\n - d\n- !!map\n',
  'a:\n# x\n  b:\n    # y\n  # z\n  c: 1\n\n  # w\n# v\nd:\n',
  '[a: b, ? c, "d":e, f\n, {g: , h}]: i\n',
]
const INSERTED = [' ', '\n', '\r', '\t', ': ', '- ', '[', '}', '"', "'", '#', '&a ', '*a', '|\n', '? ', '---\n', '\n  ']

let bundled: typeof yaml

beforeAll(async () => {
  const contents = 'module.exports = require("yaml")'
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    plugins: [directYaml],
    bundle: true,
    format: 'cjs',
    platform: 'node',
    write: false,
  })
  const module = { exports: {} as typeof yaml }
  new Function('module', 'exports', 'require', outputFiles[0]!.text)(
    module,
    module.exports,
    createRequire(import.meta.url),
  )
  bundled = module.exports
})

/** What the reader of configurations asks of the library, with how deep the parser is after each token. */
function read({ Lexer, Parser, Composer }: typeof yaml, text: string): string {
  const parser = new Parser()
  const composer = new Composer({ schema: 'failsafe', prettyErrors: false, logLevel: 'silent' })
  const documents: unknown[] = []
  const steps: unknown[] = []
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) documents.push(...composer.next(token))
    steps.push([lexeme, parser.stack.length, parser.offset])
  }
  for (const token of parser.end()) documents.push(...composer.next(token))
  documents.push(...composer.end(true, text.length))
  const written = documents.map(document => {
    const { contents, errors, range, comment, commentBefore } = document as yaml.Document.Parsed
    return [
      shown(contents),
      errors.map(({ code, message, pos }) => [code, message, pos]),
      range,
      comment,
      commentBefore,
    ]
  })
  return JSON.stringify([steps, written, [...new Parser().parse(text)]])
}

/** The tree with everything that the reader looks at; `toJSON` of a node would be its value. */
function shown(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(shown)
  if (typeof node !== 'object' || node === null) return node
  return Object.entries(node).map(([key, value]) => [key, key === 'schema' ? '' : shown(value)])
}

function variants(text: string): string[] {
  const places = Array.from({ length: 40 }, (_, i) => Math.floor((i * text.length) / 40))
  return [
    text.replaceAll('\n', '\r\n'),
    ...places.map(at => text.slice(0, at)),
    ...places.map((at, i) => text.slice(0, at) + INSERTED[i % INSERTED.length] + text.slice(at)),
  ]
}

describe('the bundled YAML library parses like the original package', () => {
  test.each(CONSTRUCTS)('%j', text => {
    for (const each of [text, ...variants(text)]) expect(read(bundled, each), each).toBe(read(yaml, each))
  })

  test('every fixture', () => {
    expect(FIXTURES.length).toBeGreaterThan(300)
    for (const path of FIXTURES) {
      const text = readFileSync(`${root}fixtures/${path}`, 'utf8')
      expect(read(bundled, text) === read(yaml, text), path).toBe(true)
    }
  })

  test('the rewrite finds its patterns and leaves only the outer generators', () => {
    const dist = `${root}node_modules/yaml/browser/dist/`
    for (const [file, outer] of [
      ['parse/lexer.js', ['lex']],
      ['parse/parser.js', ['parse']],
    ] as const) {
      const text = direct(file, readFileSync(dist + file, 'utf8'))!
      expect([...text.matchAll(/^ {4}\*(\w+)\(/gm)].map(([, name]) => name)).toEqual(outer)
    }
    expect(() => direct('parse/lexer.js', 'another lexer')).toThrow('adapt scripts/direct-yaml.mjs')
    expect(direct('parse/cst.js', 'anything')).toBeUndefined()
  })
})
