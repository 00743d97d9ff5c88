import type { Diagnostic, Finding, Path } from '../../diagnostics/diagnostic.ts'
import type { Source, SourceDocument } from '../../diagnostics/source.ts'
import { closest, didYouMean } from '../../diagnostics/suggest.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import { kindFor, kindNamesOf } from '../kinds/index.ts'
import type { ResourceKind } from '../kinds/resource.ts'
import { classify, keysOf } from './classify.ts'
import type { Lost } from './explained.ts'
import type { Written } from './resource.ts'

export interface Skipped {
  readonly file: string
  /** 1-based number of the document. */
  readonly index: number
  /** `Deployment default/app`, or a description of another document. */
  readonly kind: string
  readonly reason: string
}

export interface Unrolled {
  readonly resources: Written[]
  readonly diagnostics: Diagnostic[]
  readonly skipped: Skipped[]
  /** Meant as resources of supported kinds, and reported. */
  readonly refused: Lost[]
  documents: number
}

/** Finds the resources in the documents of a file: lists are expanded, unsupported kinds are counted. */
export function unroll(file: string, source: Source, into: Unrolled): void {
  if (source.diagnostics.some(({ severity }) => severity === 'error')) into.refused.push({})
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
  const namespace = asText(asFields(raw.metadata)?.namespace)
  const name = asText(asFields(raw.metadata)?.name)
  const refuse = (finding: Finding): void => {
    report(finding)
    at.into.refused.push({ name })
  }
  for (const field of ['apiVersion', 'kind']) {
    if (asText(raw[field]) !== undefined) continue
    refuse(
      raw[field] === undefined
        ? lacking(field, raw, path)
        : { code: 'GW101', message: `\`${field}\` must be text`, path: [...path, field], at: 'value' },
    )
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
  if (!kind) {
    const unknown =
      wrongGroup(group, kindName, path) ??
      unknownKind(group, kindName, path) ??
      unknownGroup(group, version, kindName, path)
    if (unknown) refuse(unknown)
    else {
      const label = `${kindName} ${namespace === undefined ? '' : `${namespace}/`}${name ?? '(no name)'}`
      at.into.skipped.push({ file: at.file, index: at.document.index, kind: label, reason: 'kind is not checked' })
    }
    return
  }
  if (!kind.versions.includes(version)) {
    refuse(wrongVersion(kind, kindName, group, version, [...path, 'apiVersion']))
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

/** The kind of a list's items; empty if each item states its own. */
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

/** `kind` or `apiVersion` is missing; suggests a similar key as a misspelling. */
function lacking(field: string, raw: Fields, path: Path): Finding {
  const misspelt = Object.keys(raw).find(key => closest(key, [field]).length > 0)
  if (misspelt === undefined) {
    return { code: 'GW103', message: `the resource lacks \`${field}\``, path: [...path, field], at: 'parent' }
  }
  return {
    code: 'GW102',
    message: `unknown field \`${misspelt}\` in a resource`,
    path: [...path, misspelt],
    at: 'key',
    help: `did you mean \`${field}\`?`,
    fix: { title: `rename to \`${field}\``, safe: true, replace: 'key', with: field },
  }
}

const PUBLIC_GROUP = 'agentgateway.dev'
const OWN_KIND = /^(Proxy|Agentgateway)(Backend|Model|Policy|Parameters)$/
/** Groups whose relevant kinds are all known. */
const KNOWN_GROUPS = ['gateway.networking.k8s.io', 'inference.networking.k8s.io', 'discovery.k8s.io', '']

/** A supported kind in the wrong group, if its name is unique: in the core group, or under our public name. */
function wrongGroup(group: string, kindName: string, path: Path): Finding | undefined {
  if (group !== '' && !kindName.startsWith('Agentgateway')) return undefined
  const home = [PUBLIC_GROUP, ...KNOWN_GROUPS].find(known => kindFor(known, kindName) !== undefined)
  if (home === undefined) return undefined
  const best = `${home}/${kindFor(home, kindName)!.versions[0]}`
  return {
    code: 'GW104',
    message: `${kindName} is a kind of the group \`${home}\``,
    path: [...path, 'apiVersion'],
    at: 'value',
    help: `write \`${best}\``,
    fix: { title: `change to \`${best}\``, safe: false, replace: 'value', with: best },
  }
}

/** An unknown kind that resembles one of a supported group. */
function unknownKind(group: string, kindName: string, path: Path): Finding | undefined {
  const names = kindNamesOf(group)
  const near = closest(kindName, names)
  const checked = group === PUBLIC_GROUP || OWN_KIND.test(kindName)
  const resembles = near.length > 0 && (KNOWN_GROUPS.includes(group) || near.every(name => OWN_KIND.test(name)))
  if (!checked && !resembles) return undefined
  const best = near.length === 1 ? near[0] : undefined
  const help = didYouMean(kindName, names) ?? `kinds of this group: ${names.join(', ')}`
  return {
    code: 'GW104',
    message:
      group === ''
        ? `there is no kind \`${kindName}\` in the core group`
        : `the group \`${group}\` has no kind \`${kindName}\``,
    path: [...path, 'kind'],
    at: 'value',
    help,
    ...(best === undefined
      ? {}
      : { fix: { title: `change to \`${best}\``, safe: false, replace: 'value', with: best } }),
  }
}

/** A supported kind in a group that resembles its own. */
function unknownGroup(group: string, version: string, kindName: string, path: Path): Finding | undefined {
  const near = closest(group, KNOWN_GROUPS).filter(known => kindFor(known, kindName) !== undefined)
  const [known] = near
  if (group === '' || known === undefined || known === '' || near.length > 1) return undefined
  const best = `${known}/${version}`
  return {
    code: 'GW104',
    message: `there is no group \`${group}\` with a kind \`${kindName}\``,
    path: [...path, 'apiVersion'],
    at: 'value',
    help: `did you mean \`${best}\`?`,
    fix: { title: `change to \`${best}\``, safe: false, replace: 'value', with: best },
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
