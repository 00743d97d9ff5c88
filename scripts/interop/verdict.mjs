// The two verdicts on a document: a strict dry run of the API server, and what gwctl finds in it.
import { parseAllDocuments } from 'yaml'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { createPatternCompiler } from '../../src/cel/pattern.ts'
import { checkReferences } from '../../src/cluster/resources/check-references.ts'
import { decodeResources } from '../../src/cluster/resources/decode-resources.ts'
import { unroll } from '../../src/cluster/resources/unroll.ts'
import { parseSource } from '../../src/diagnostics/source.ts'
import { checkTexts } from '../../src/tools/check/check-documents.ts'

const engines = { cel: createCelCompiler(), patterns: createPatternCompiler() }
/** What is in expressions and patterns is only text to an API server. */
const BEYOND = /^GW(3\d\d|112|601)$/

/** Judges the documents of a text; `server` is undefined where the server does not know a kind. */
export function createJudge({ call }) {
  const types = typeLookup(call)
  const namespaces = new Set(['default'])
  return async ({ name, text }) => {
    const verdicts = []
    const own = await ownVerdicts(name, text)
    for (const [index, document] of documentsOf(text).entries()) {
      if (own[index]?.resource !== true) continue
      const server = await serverVerdict(document, { call, types, namespaces })
      verdicts.push({ label: labelOf(document.value), own: own[index], server })
    }
    return verdicts
  }
}

async function ownVerdicts(file, text) {
  const options = { cwd: '/', env: {}, tier: 'offline', partial: true, mode: 'cluster' }
  const { diagnostics } = await checkTexts([{ file, text, lenient: false }], options)
  const found = { resources: [], diagnostics: [], skipped: [], refused: [], documents: 0 }
  const source = parseSource(file, text)
  unroll(file, source, found)
  const resources = await decodeResources(found.resources, { ...engines }, [])
  const idOf = ({ code, message, range }) => `${code} ${range.start.offset} ${message}`
  const references = new Set(checkReferences(resources, true, found.refused).map(idOf))
  const skipped = new Set(found.skipped.map(({ index }) => index))
  return source.documents
    .filter(({ empty }) => !empty)
    .map(({ index }) => {
      const errors = diagnostics.filter(
        ({ severity, document }) => severity === 'error' && (document?.index ?? 1) === index,
      )
      const schema = errors.filter(each => !BEYOND.test(each.code) && !references.has(idOf(each)))
      return {
        resource: !skipped.has(index),
        accepted: schema.length === 0,
        messages: schema.map(({ code, message }) => `${code} ${message}`),
        beyond: errors.length - schema.length,
      }
    })
}

function documentsOf(text) {
  return parseAllDocuments(text, { uniqueKeys: false })
    .filter(({ contents }) => contents !== null)
    .map(document => ({ text: text.slice(document.range[0], document.range[1]), value: document.toJS() }))
}

function labelOf(value) {
  return `${value?.kind}/${value?.metadata?.name}`
}

async function serverVerdict(document, { call, types, namespaces }) {
  const { value } = document
  const items = Array.isArray(value?.items) && String(value.kind).endsWith('List') ? value.items : undefined
  let verdict
  for (const item of items ?? [value]) {
    const typed = items && value.kind !== 'List'
    const whole = typed ? { apiVersion: value.apiVersion, kind: value.kind.slice(0, -'List'.length), ...item } : item
    const type = await types(whole)
    if (type === undefined) return undefined
    const namespace = type.namespaced ? (whole.metadata?.namespace ?? 'default') : undefined
    if (namespace !== undefined && !namespaces.has(namespace)) {
      namespaces.add(namespace)
      await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    }
    const path = `${type.path}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${type.plural}`
    const body = items ? whole : document.text
    const answer = await call('POST', `${path}?dryRun=All&fieldValidation=Strict`, body)
    const accepted = answer.status === 201 || answer.body.reason === 'AlreadyExists'
    verdict = { accepted, message: answer.body.message }
    if (!accepted) return verdict
  }
  return verdict
}

/** Where objects of a kind are created; asked of the server once for each group and version. */
function typeLookup(call) {
  const known = new Map()
  return async value => {
    const { apiVersion, kind } = value ?? {}
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    if (!known.has(path)) known.set(path, (await call('GET', path)).body.resources ?? [])
    const found = known.get(path).find(each => each.kind === kind && !each.name.includes('/'))
    return found && { path, plural: found.name, namespaced: found.namespaced }
  }
}
