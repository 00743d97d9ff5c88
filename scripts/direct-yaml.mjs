// The lexer and the parser of the YAML library without their inner generators. A token passes through a dozen of them, and
// resuming each is most of what reading a file takes. Their outer methods still give something to iterate over, so whoever
// calls them sees no difference; test/scripts/direct-yaml.test.ts compares what they give.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** What becomes of each file: every step has to find something, so that an update of the library fails the build. */
const STEPS = {
  'parse/lexer.js': [
    [/^ {4}\*(?!lex\b)(?=\w+\()/gm, '    '],
    [/^( +)next = yield\* this\.parseNext\(next\);$/m, '$1{ next = this.parseNext(next); yield* this.given(); }'],
    ...eager(),
  ],
  'parse/parser.js': [
    [
      /^ {4}\*next\(source\) \{$/m,
      '    next(source) { this.advance(source); return this.given(); }\n    advance(source) {',
    ],
    [/^ {4}\*end\(\) \{$/m, '    end() { this.finish(); return this.given(); }\n    finish() {'],
    [/^ {4}\*(?!parse\b)(?=\w+\()/gm, '    '],
    ...eager(),
  ],
  'nodes/Node.js': [typed('type')],
  'nodes/Pair.js': [typed('PAIR')],
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

/** A definition of a property costs more than all others of the node together. */
function typed(type) {
  return [`Object.defineProperty(this, NODE_TYPE, { value: ${type} });`, `this[NODE_TYPE] = ${type};`]
}

/** `file` is relative to the library's `browser/dist`; undefined for one that stays as it is. */
export function direct(file, text) {
  let out = text
  for (const [pattern, replacement] of STEPS[file] ?? []) {
    const next = out.replace(pattern, replacement)
    if (next === out)
      throw new Error(`yaml/browser/dist/${file} no longer has ${pattern}; adapt scripts/direct-yaml.mjs`)
    out = next
  }
  return STEPS[file] && out
}

/**
 * esbuild plugin. Takes the library as ES modules, which it has for browsers: the same code, but what is called is called
 * by its name, and what nothing calls is left out.
 */
export const directYaml = {
  name: 'direct-yaml',
  setup(build) {
    build.onResolve({ filter: /^yaml$/ }, ({ resolveDir }) => ({
      path: createRequire(`${resolveDir}/`)
        .resolve('yaml')
        .replace(/dist([\\/])index\.js$/, 'browser$1dist$1index.js'),
      sideEffects: false,
    }))
    build.onLoad({ filter: /[\\/]yaml[\\/]browser[\\/]dist[\\/]\w+[\\/]\w+\.js$/ }, ({ path }) => {
      const [, file] = /yaml\/browser\/dist\/(.*)$/.exec(path.replaceAll('\\', '/'))
      const contents = direct(file, readFileSync(path, 'utf8'))
      return contents === undefined ? undefined : { contents, loader: 'js' }
    })
  },
}
