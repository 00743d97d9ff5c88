// The YAML test suite against the parser as it is built into gwctl: the library with its lexer and parser rewritten
// (scripts/direct-yaml.mjs). Compares the events of each case, and that what is no YAML is refused.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { parse } from 'yaml'
import { directYaml } from '../../direct-yaml.mjs'
import { missingData, suiteFolder } from '../shared-suites.mjs'

export const name = 'yaml'
export const title = 'YAML test suite (yaml/yaml-test-suite), against the parser that is built into gwctl'

/** Case → why it comes out differently. */
const KNOWN = { SF5V: 'the library takes a second `%YAML` directive; nothing depends on it' }

export async function needs() {
  return missingData('yaml')
}

export async function run() {
  const yaml = await builtParser()
  const outcome = { passed: 0, known: [], failed: [], stale: [] }
  for (const each of casesIn(suiteFolder('yaml'))) {
    const wrong = judge(yaml, each)
    const reason = KNOWN[each.id]
    if (wrong === undefined && reason !== undefined) outcome.stale.push(each.id)
    if (wrong === undefined) outcome.passed++
    else if (reason !== undefined) outcome.known.push({ case: each.id, reason })
    else outcome.failed.push({ case: each.id, reason: wrong })
  }
  return outcome
}

async function builtParser() {
  const { outputFiles } = await build({
    stdin: { contents: 'module.exports = require("yaml")', resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    plugins: [directYaml],
    bundle: true,
    format: 'cjs',
    platform: 'node',
    write: false,
  })
  const module = { exports: {} }
  new Function('module', 'exports', 'require', outputFiles[0].text)(
    module,
    module.exports,
    createRequire(import.meta.url),
  )
  return module.exports
}

/** A case says only what differs from the one before it in its file. */
function casesIn(folder) {
  return readdirSync(folder)
    .sort()
    .flatMap(file => {
      let whole = {}
      return parse(readFileSync(folder + file, 'utf8')).map((part, index) => {
        whole = { ...whole, fail: false, ...part }
        return { ...whole, id: `${file.replace('.yaml', '')}${index === 0 ? '' : `:${index}`}` }
      })
    })
    .filter(({ skip }) => !skip)
}

/** The suite makes what cannot be seen visible. */
function plain(text) {
  return text
    .replaceAll('␣', ' ')
    .replace(/—*»/g, '\t')
    .replaceAll('⇔', '\uFEFF')
    .replaceAll('↵', '')
    .replaceAll('←', '\r')
    .replace(/∎\n$/, '')
}

function judge(yaml, { yaml: text, tree, fail = false }) {
  const stream = read(yaml, plain(text))
  const errors = stream.flatMap(document => document.errors)
  const refused = errors.length > 0
  if (fail) return refused ? undefined : 'is taken, and is no YAML'
  if (refused) return `is refused: ${errors[0].message.split('\n')[0]}`
  const wanted = plain(tree).replace(/^ +/gm, '').trimEnd()
  const got = ['+STR', ...stream.filter(isThere).flatMap(document => eventsOf(yaml, document)), '-STR'].join('\n')
  return got === wanted ? undefined : firstDifference(got.split('\n'), wanted.split('\n'))
}

/** As src/diagnostics/source.ts asks. */
function read({ Lexer, Parser, Composer }, text) {
  const parser = new Parser()
  const composer = new Composer({
    schema: 'failsafe',
    merge: false,
    resolveKnownTags: false,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  const tokens = [...new Lexer().lex(text)].flatMap(lexeme => [...parser.next(lexeme)])
  const documents = [...tokens, ...parser.end()].flatMap(token => [...composer.next(token)])
  return [...documents, ...composer.end(true, text.length)]
}

function firstDifference(got, wanted) {
  const at = wanted.findIndex((line, i) => line !== got[i])
  const i = at < 0 ? wanted.length : at
  return `event ${i + 1} is ${JSON.stringify(got[i])} and not ${JSON.stringify(wanted[i])}`
}

function eventsOf(yaml, document) {
  const { explicit, docEnd } = marksOf(document)
  const events = [explicit ? '+DOC ---' : '+DOC']
  events.push(...nodeEvents(yaml, document, document.contents))
  events.push(docEnd ? '-DOC ...' : '-DOC')
  return events
}

/** The library makes a document of an end mark alone; the reader of configurations takes that for none, as the suite does. */
function isThere({ contents, directives }) {
  return (
    directives.docStart === true ||
    (contents !== null && (contents.source !== '' || Boolean(contents.tag) || Boolean(contents.anchor)))
  )
}

function marksOf(document) {
  return { explicit: document.directives.docStart === true, docEnd: document.directives.docEnd === true }
}

function nodeEvents(yaml, document, node) {
  if (node === null || node === undefined) return ['=VAL :']
  if (yaml.isAlias(node)) return [`=ALI *${node.source}`]
  const anchor = node.anchor ? ` &${node.anchor}` : ''
  const tag = tagOf(node)
  if (yaml.isMap(node)) {
    const inner = node.items.flatMap(({ key, value }) => [
      ...nodeEvents(yaml, document, key),
      ...nodeEvents(yaml, document, value),
    ])
    return [`+MAP${node.flow ? ' {}' : ''}${anchor}${tag}`, ...inner, '-MAP']
  }
  if (yaml.isSeq(node)) {
    const inner = node.items.flatMap(item => itemEvents(yaml, document, item))
    return [`+SEQ${node.flow ? ' []' : ''}${anchor}${tag}`, ...inner, '-SEQ']
  }
  return [`=VAL${anchor}${tag} ${STYLES[node.type] ?? ':'}${escaped(node.source ?? '')}`]
}

/** `[a: b]` is a sequence with a map of one pair in it. */
function itemEvents(yaml, document, item) {
  if (!yaml.isPair(item)) return nodeEvents(yaml, document, item)
  return ['+MAP {}', ...nodeEvents(yaml, document, item.key), ...nodeEvents(yaml, document, item.value), '-MAP']
}

const STYLES = { QUOTE_DOUBLE: '"', QUOTE_SINGLE: "'", BLOCK_LITERAL: '|', BLOCK_FOLDED: '>', PLAIN: ':' }

function tagOf(node) {
  return node.tag ? ` <${node.tag}>` : ''
}

function escaped(text) {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\r', '\\r')
    .replaceAll('\b', '\\b')
    .replaceAll('\0', '\\0')
}
