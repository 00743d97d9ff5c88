import type { Diagnostic, Finding } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { parseSource, type SourceDocument } from '../../diagnostics/source.ts'
import { decode, INVALID } from '../../schema/decode.ts'
import type { DryRequest } from '../dry-run/dry-run.ts'
import { checkVariables } from '../expressions/state.ts'
import { type InputPlace, readInput } from '../input/input-files.ts'
import { singleRequest } from '../test-file/client.ts'
import { testRequest } from '../test-file/test-file.ts'

/**
 * A request in the form of test cases: `method`, `url` or `path`, `headers`, `body`, `json`, `jwt` … Throws a Failure.
 */
export async function readRequest(file: string, io: InputPlace): Promise<DryRequest> {
  const document = await readDocument(file, io)
  const found: Diagnostic[] = []
  const report = (finding: Finding) => void found.push(document.resolve(finding))
  const context = { report, paths: new WeakMap(), cel: undefined, patterns: undefined, missing: new Set<never>() }
  const request = decode(testRequest, document.value, [], context)
  throwFirst(found)
  if (request === INVALID) throw new Failure('input', `${file} holds no request.`)
  if (request.mcp === undefined) return singleRequest(request)
  throw new Failure('input', `${file}: \`mcp\` stands for a session, and an expression sees one request.`, {
    help: 'Write the message as `json`.',
  })
}

/** Variables by name, as YAML or JSON, from a file or, if it begins with `{`, the text itself. Throws a Failure. */
export async function readContext(given: string, io: InputPlace): Promise<Readonly<Record<string, unknown>>> {
  const inline = given.trimStart().startsWith('{')
  const document = inline ? documentIn('--context', given) : await readDocument(given, io)
  const { value } = document
  const name = inline ? '--context' : given
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Failure('input', `${name} holds no map of variables.`, {
      help: 'For example: {"response": {"code": 500}}',
    })
  }
  checkVariables(value as Readonly<Record<string, unknown>>, name)
  return value as Readonly<Record<string, unknown>>
}

async function readDocument(file: string, io: InputPlace): Promise<SourceDocument> {
  const { text } = await readInput(file, io)
  return documentIn(file, text)
}

function documentIn(file: string, text: string): SourceDocument {
  const { documents, diagnostics } = parseSource(file, text)
  const [document] = documents
  throwFirst(diagnostics)
  if (document === undefined || document.broken) throw new Failure('input', `${file} is empty.`)
  return document
}

function throwFirst(diagnostics: readonly Diagnostic[]): void {
  const first = diagnostics.find(({ severity }) => severity === 'error')
  if (first === undefined) return
  const { line, col } = first.range.start
  const help = first.help === undefined ? {} : { help: first.help }
  throw new Failure('input', `${first.file}:${line}:${col}: ${first.message}.`, help)
}
