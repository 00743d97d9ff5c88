import { CODES, type Code } from '../codes.ts'
import type { Diagnostic, Range, Severity, TextEdit } from '../diagnostic.ts'
import { fingerprints } from './identity.ts'
import { printableJson, type Tool } from './json.ts'
import { arrange, type CheckReport, displayPath } from './report.ts'

const LEVEL: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'note' }
/** GitHub's limits for results per run and locations per result. */
const MAX_RESULTS = 5000
const MAX_PLACES = 100

/** SARIF 2.1.0, one run. Columns count UTF-16 units from 1, as SARIF does by default. */
export function renderSarif(report: CheckReport, tool: Tool): string {
  const reported = arrange(report.diagnostics)
  const suppressed = report.suppressed ?? []
  const all = [...reported, ...suppressed.map(({ diagnostic }) => diagnostic)].slice(0, MAX_RESULTS)
  const codes = [...new Set(all.map(d => d.code))].sort()
  const prints = fingerprints(all, report.cwd)
  const run = {
    tool: {
      driver: {
        name: tool.name,
        version: tool.version,
        semanticVersion: tool.version,
        rules: codes.map(rule),
      },
    },
    columnKind: 'utf16CodeUnits',
    originalUriBaseIds: { ROOT: { uri: directoryUri(report.cwd) } },
    results: all.map((d, i) => ({
      ...result(d, codes.indexOf(d.code), report.cwd),
      partialFingerprints: { 'gwctl/v1': prints[i] },
      ...suppressionOf(suppressed[i - reported.length]),
    })),
  }
  const log = { $schema: SCHEMA, version: '2.1.0', runs: [run] }
  return `${printableJson(JSON.stringify(log, null, 2))}\n`
}

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json'

function rule(code: Code) {
  const { title, text, severity } = CODES[code]
  return {
    id: code,
    name: title.replace(/(?:^|\W+)(\w)/g, (_, first: string) => first.toUpperCase()),
    shortDescription: { text: title },
    fullDescription: { text },
    help: { text: `${text}\n\ngwctl explain ${code}`, markdown: `${text}\n\n\`gwctl explain ${code}\`` },
    defaultConfiguration: { level: LEVEL[severity] },
  }
}

function result(d: Diagnostic, ruleIndex: number, cwd: string) {
  const details = [d.label, d.help, d.note].filter(part => part !== undefined)
  const places = d.related.slice(0, MAX_PLACES)
  const logical = logicalLocations(d)
  return {
    ruleId: d.code,
    ruleIndex,
    level: LEVEL[d.severity],
    message: { text: [d.message, ...details].join('\n') },
    locations: [{ ...location(d.file, d.range, cwd), ...logical }],
    ...(places.length > 0 && {
      relatedLocations: places.map((place, id) => ({
        id,
        ...location(place.file, place.range, cwd),
        message: { text: place.message },
      })),
    }),
    ...(d.fix && { fixes: [{ description: { text: d.fix.title }, artifactChanges: changes(d.fix.edits, cwd) }] }),
  }
}

function location(file: string, range: Range, cwd: string) {
  return { physicalLocation: { artifactLocation: artifact(file, cwd), region: region(range) } }
}

function logicalLocations(d: Diagnostic) {
  const name = [d.resource, d.path].filter(part => part !== undefined && part !== '').join(' ')
  return name === '' ? {} : { logicalLocations: [{ fullyQualifiedName: name }] }
}

/** Columns are exclusive at the end in SARIF too. */
function region({ start, end }: Range) {
  return { startLine: start.line, startColumn: start.col, endLine: end.line, endColumn: end.col }
}

function changes(edits: readonly TextEdit[], cwd: string) {
  const files = [...new Set(edits.map(edit => edit.file))]
  return files.map(file => ({
    artifactLocation: artifact(file, cwd),
    replacements: edits
      .filter(edit => edit.file === file)
      .map(edit => ({ deletedRegion: region(edit.range), insertedContent: { text: edit.text } })),
  }))
}

/** Relative paths start at the working directory: for code scanning, the root of the repository. */
function artifact(file: string, cwd: string) {
  const shown = displayPath(file, cwd)
  const uri = encodePath(shown)
  return /^(?:\/|[A-Za-z]:)/.test(shown) ? { uri: `file://${uri}` } : { uri, uriBaseId: 'ROOT' }
}

function encodePath(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/')
}

function directoryUri(path: string): string {
  const slashes = path.replaceAll('\\', '/').replace(/\/?$/, '/')
  return `file://${slashes.startsWith('/') ? '' : '/'}${encodePath(slashes)}`
}

type Suppression = NonNullable<CheckReport['suppressed']>[number]

function suppressionOf(suppressed: Suppression | undefined) {
  if (!suppressed) return {}
  return { suppressions: [{ kind: suppressed.kind, justification: suppressed.reason }] }
}
