import { readFileSync } from 'node:fs'
import { shellWords } from '../../src/tools/curl/shell-words.ts'

/** A page of the documentation, as its readers try it. */
export interface DocPage {
  readonly text: string
  readonly commands: readonly DocCommand[]
  /** What is shown as it is: output, pictures. */
  readonly shown: readonly string[]
}

export interface DocCommand {
  readonly line: string
  /** What follows `gwctl`, without comments, redirections and what it is piped to. */
  readonly argv: readonly string[]
}

/** `name`: `trace.md`. Its commands are the lines with `gwctl` in fences of `sh`. */
export function docPage(name: string): DocPage {
  const text = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
  const fences = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
  const inFences = (wanted: string) => fences.flatMap(([, language, held = '']) => (language === wanted ? [held] : []))
  const lines = inFences('sh').flatMap(held => held.match(/^gwctl .*$/gm) ?? [])
  return { text, commands: lines.map(line => ({ line, argv: argvOf(line, name) })), shown: inFences('') }
}

function argvOf(line: string, page: string): readonly string[] {
  const [, ...words] = shellWords(line.replace(/ +# .*$/, ''), page)
  const end = words.findIndex(word => /^[|>]$/.test(word))
  return end < 0 ? words : words.slice(0, end)
}
