import type { TextFinding } from './source-findings.ts'

/**
 * The finding for unparsable text that is evidently not configuration: by its file name, or because hardly any line
 * looks like one. Undefined if it is; then its first syntax error is more useful.
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

/** File extensions that are never configuration. */
const OTHERS =
  /\.(?:adoc|c|cc|cpp|cs|css|csv|go|h|html?|ini|java|[cm]?jsx?|lock|log|lua|md|mdx|pem|php|proto|py|rb|rs|rst|sh|sql|svg|tf|toml|[cm]?tsx?|xml)$/i
const OURS = /(?:\.(?:ya?ml|jsonc?)|^<.*>)$/i

/** Number of lines examined, and the minimum for a text to be called foreign. */
const MAX_LINES = 200
const ENOUGH = 5

function isForeign(file: string, text: string): boolean {
  if (OTHERS.test(file)) return true
  const lines = text
    .slice(0, 64 * 1024)
    .split('\n', MAX_LINES)
    .filter(line => /^\s*[^\s#]/.test(line))
  const familiar = lines.filter(line => FAMILIAR.test(line)).length
  return OURS.test(file) ? lines.length >= ENOUGH && familiar === 0 : familiar * 4 < lines.length
}

/** A key, an item, a bracket, a document marker. */
const FAMILIAR = /^\s*(?:-(?:\s|$)|[[\]{}]|---|\.\.\.|%|["']?[\w.$/*-]+["']?\s*:(?:\s|$)|["'][^"']*["'],?\s*$)/
