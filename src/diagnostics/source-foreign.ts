import type { TextFinding } from './source-findings.ts'

/**
 * The finding about a text that cannot be read and was not meant as configuration: by its name, or because hardly a
 * line of it looks like one. Undefined: it was meant as one, and its first mistake says more.
 */
export function foreignText(file: string, text: string): TextFinding | undefined {
  if (!isForeign(file, text)) return undefined
  const start = Math.max(0, text.search(/\S/))
  const [line = ''] = /[^\r\n]*/.exec(text.slice(start)) ?? []
  return {
    code: 'GW001',
    message: FOREIGN,
    start,
    end: start + line.trimEnd().length,
    help: 'name a YAML or JSON file: a configuration, resources, or test cases',
  }
}

export const FOREIGN = 'the file is neither YAML nor JSON'

/** Text by these endings is something else, whatever is in it. */
const OTHERS =
  /\.(?:adoc|c|cc|cpp|cs|css|csv|go|h|html?|ini|java|[cm]?jsx?|lock|log|lua|md|mdx|pem|php|proto|py|rb|rs|rst|sh|sql|svg|tf|toml|[cm]?tsx?|xml)$/i
const OURS = /(?:\.(?:ya?ml|jsonc?)|^<.*>)$/i

/** Lines that are looked at, and how many of them a text has to have before it can be called foreign. */
const MOST_LINES = 200
const ENOUGH = 5

function isForeign(file: string, text: string): boolean {
  if (OTHERS.test(file)) return true
  const lines = text
    .slice(0, 64 * 1024)
    .split('\n', MOST_LINES)
    .filter(line => /^\s*[^\s#]/.test(line))
  const familiar = lines.filter(line => FAMILIAR.test(line)).length
  return OURS.test(file) ? lines.length >= ENOUGH && familiar === 0 : familiar * 4 < lines.length
}

/** A key, an item, a bracket, a mark between documents. */
const FAMILIAR = /^\s*(?:-(?:\s|$)|[[\]{}]|---|\.\.\.|%|["']?[\w.$/*-]+["']?\s*:(?:\s|$)|["'][^"']*["'],?\s*$)/
