// The lexer and the parser of the YAML library without their inner generators. A token passes through a dozen of them, and
// resuming each is most of what reading a file takes. Their outer methods still give something to iterate over, so whoever
// calls them sees no difference; test/scripts/direct-yaml.test.ts compares what they give.
import { readFileSync } from 'node:fs'

/** What becomes of each file: every step has to find something, so that an update of the library fails the build. */
const STEPS = {
  'parse/lexer.js': [
    [/^ {4}\*(?!lex\b)(?=\w+\()/gm, '    '],
    [/^( +)next = yield\* this\.parseNext\(next\);$/m, '$1{ next = this.parseNext(next); yield* this.given(); }'],
    ...eager(),
  ],
  'parse/parser.js': [
    [/node_process\.env\.LOG_TOKENS/, 'false'],
    [
      /^ {4}\*next\(source\) \{$/m,
      '    next(source) { this.advance(source); return this.given(); }\n    advance(source) {',
    ],
    [/^ {4}\*end\(\) \{$/m, '    end() { this.finish(); return this.given(); }\n    finish() {'],
    [/^ {4}\*(?!parse\b)(?=\w+\()/gm, '    '],
    ...eager(),
  ],
  'compose/composer.js': [[/node_process\.env\.LOG_STREAM/, 'false']],
}

/** In `lex` and `parse`, which stay generators, `yield*` is followed by what one of the outer methods gives. */
function eager() {
  return [
    [/yield\* (?=this\.(?!given\(|next\(|end\())/g, ''],
    [/\byield (?!\*)([\s\S]*?);$/gm, 'this.tokens.push($1);'],
    [
      /^ {4}constructor\(.*\) \{$/m,
      `    given() {
        const { tokens } = this;
        if (tokens.length > 0)
            this.tokens = [];
        return tokens;
    }
$&
        this.tokens = [];`,
    ],
  ]
}

/** `file` is relative to the library's `dist`; undefined for one that stays as it is. */
export function direct(file, text) {
  let out = text
  for (const [pattern, replacement] of STEPS[file] ?? []) {
    const next = out.replace(pattern, replacement)
    if (next === out) throw new Error(`yaml/dist/${file} no longer has ${pattern}; adapt scripts/direct-yaml.mjs`)
    out = next
  }
  return STEPS[file] && out
}

/** esbuild plugin. */
export const directYaml = {
  name: 'direct-yaml',
  setup(build) {
    build.onLoad({ filter: /[\\/]yaml[\\/]dist[\\/](?:parse|compose)[\\/]\w+\.js$/ }, ({ path }) => {
      const [, file] = /yaml\/dist\/(.*)$/.exec(path.replaceAll('\\', '/'))
      const contents = direct(file, readFileSync(path, 'utf8'))
      return contents === undefined ? undefined : { contents, loader: 'js' }
    })
  },
}
