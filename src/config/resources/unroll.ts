import type { Diagnostic, Finding, Path } from '../../diagnostics/diagnostic.ts'
import type { Source, SourceDocument } from '../../diagnostics/source.ts'
import { closest, didYouMean } from '../../diagnostics/suggest.ts'
import { kindFor, kindNamesOf } from '../kinds/index.ts'
import type { ResourceKind } from '../kinds/resource.ts'
import { classify, keysOf } from './classify.ts'
import { asFields, asText, type Fields, type Written } from './resource.ts'

export interface Skipped {
  readonly file: string
  /** 1-based number of the document. */
  readonly index: number
  /** `Deployment default/app`, or what the document is instead of a resource. */
  readonly kind: string
  readonly reason: string
}

export interface Unrolled {
  readonly resources: Written[]
  readonly diagnostics: Diagnostic[]
  readonly skipped: Skipped[]
  documents: number
}

/** Finds the resources in the documents of a file; lists are opened, kinds that are not checked are counted. */
export function unroll(file: string, source: Source, into: Unrolled): void {
  for (const document of source.documents) {
    const found = classify(document)
    if (found === 'nothing') continue
    into.documents++
    if (found === 'resource') unrollValue(document.value as Fields, [], { file, document, into })
    else if (found === 'standalone') {
      into.skipped.push({ file, index: document.index, kind: 'standalone configuration', reason: 'not a resource' })
    } else into.diagnostics.push(document.resolve(foreign(document)))
  }
}

function foreign(document: SourceDocument): Finding {
  return {
    code: 'GW009',
    message: `this document is not a resource (${keysOf(document.value)})`,
    path: [],
    at: 'value',
    label: 'has neither `apiVersion` nor `kind`',
    help: 'if a tool printed it among resources, take it out',
  }
}

interface Place {
  readonly file: string
  readonly document: SourceDocument
  readonly into: Unrolled
}

function unrollValue(raw: Fields, path: Path, at: Place): void {
  const report = (finding: Finding): unknown => at.into.diagnostics.push(at.document.resolve(finding))
  for (const field of ['apiVersion', 'kind']) {
    if (asText(raw[field]) !== undefined) continue
    const message = raw[field] === undefined ? `the resource lacks \`${field}\`` : `\`${field}\` must be text`
    report({
      code: raw[field] === undefined ? 'GW103' : 'GW101',
      message,
      path: [...path, field],
      at: raw[field] === undefined ? 'parent' : 'value',
    })
    return
  }
  const apiVersion = raw.apiVersion as string
  const kindName = raw.kind as string
  const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/', 2) as [string, string]) : ['', apiVersion]
  const item = itemKind(group, kindName)
  if (item !== undefined) {
    unrollList(raw, item, path, at)
    return
  }

  const kind = kindFor(group, kindName)
  const namespace = asText(asFields(raw.metadata)?.namespace)
  const name = asText(asFields(raw.metadata)?.name)
  if (!kind) {
    const unknown = unknownKind(group, kindName, path)
    if (unknown) report(unknown)
    else {
      const label = `${kindName} ${namespace === undefined ? '' : `${namespace}/`}${name ?? '(no name)'}`
      at.into.skipped.push({ file: at.file, index: at.document.index, kind: label, reason: 'kind is not checked' })
    }
    return
  }
  if (!kind.versions.includes(version)) {
    report(wrongVersion(kind, kindName, group, version, [...path, 'apiVersion']))
    return
  }
  at.into.resources.push({
    kind,
    group,
    kindName,
    namespace: kind.namespaced ? (namespace ?? 'default') : undefined,
    name,
    raw,
    file: at.file,
    document: at.document,
    path,
  })
}

/** The kind of the items of a list; an empty text when each item says its own. */
function itemKind(group: string, kindName: string): string | undefined {
  if (kindName === 'List') return ''
  if (!kindName.endsWith('List') || kindFor(group, kindName)) return undefined
  const item = kindName.slice(0, -'List'.length)
  return kindFor(group, item) ? item : undefined
}

function unrollList(raw: Fields, item: string, path: Path, at: Place): void {
  const report = (finding: Finding): unknown => at.into.diagnostics.push(at.document.resolve(finding))
  for (const key of Object.keys(raw)) {
    if (['apiVersion', 'kind', 'metadata', 'items'].includes(key)) continue
    report({
      code: 'GW102',
      message: `unknown field \`${key}\` in ${String(raw.kind)}`,
      path: [...path, key],
      at: 'key',
    })
  }
  if (!Array.isArray(raw.items)) {
    const missing = raw.items === undefined
    const message = missing ? `${String(raw.kind)} lacks the required field \`items\`` : '`items` must be a list'
    report({ code: missing ? 'GW103' : 'GW101', message, path: [...path, 'items'], at: missing ? 'parent' : 'value' })
    return
  }
  for (const [index, value] of raw.items.entries()) {
    const inner = [...path, 'items', index]
    const fields = asFields(value)
    if (fields) unrollValue(item === '' ? fields : { apiVersion: raw.apiVersion, kind: item, ...fields }, inner, at)
    else report({ code: 'GW101', message: 'each item must be a resource', path: inner, at: 'value' })
  }
}

/** A kind that looks like a misspelt one of a group whose kinds are checked. */
function unknownKind(group: string, kindName: string, path: Path): Finding | undefined {
  const names = kindNamesOf(group).filter(name => group !== '' || /^(Proxy|Agentgateway)/.test(name))
  const checked =
    group === 'agentgateway.dev' || /^(Proxy|Agentgateway)(Backend|Model|Policy|Parameters)$/.test(kindName)
  const near = closest(kindName, names)
  if (
    !checked &&
    (near.length === 0 || !['gateway.networking.k8s.io', 'inference.networking.k8s.io'].includes(group))
  ) {
    return undefined
  }
  const best = near.length === 1 ? near[0] : undefined
  const help = didYouMean(kindName, names) ?? `kinds of this group: ${names.join(', ')}`
  return {
    code: 'GW104',
    message: `the group \`${group}\` has no kind \`${kindName}\``,
    path: [...path, 'kind'],
    at: 'value',
    help,
    ...(best === undefined
      ? {}
      : { fix: { title: `change to \`${best}\``, safe: false, replace: 'value', with: best } }),
  }
}

function wrongVersion(kind: ResourceKind, kindName: string, group: string, version: string, path: Path): Finding {
  const best = `${group === '' ? '' : `${group}/`}${kind.versions[0]}`
  return {
    code: 'GW104',
    message: `${kindName} has no version \`${version}\``,
    path,
    at: 'value',
    help: `versions: ${kind.versions.join(', ')}`,
    fix: { title: `change to \`${best}\``, safe: false, replace: 'value', with: best },
  }
}
