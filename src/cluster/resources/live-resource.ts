import { severityOf } from '../../diagnostics/codes.ts'
import { type Diagnostic, type Finding, formatPath, type Origin, type Path } from '../../diagnostics/diagnostic.ts'
import type { SourceDocument } from '../../diagnostics/source.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import { kindFor } from '../kinds/index.ts'
import { labelOf, type Written } from './resource.ts'

/** An object of an API server as a resource. Undefined for an unsupported kind or version. */
export function liveResource(raw: Fields): Written | undefined {
  const apiVersion = asText(raw.apiVersion) ?? ''
  const kindName = asText(raw.kind) ?? ''
  const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/', 2) as [string, string]) : ['', apiVersion]
  const kind = kindFor(group, kindName)
  if (!kind?.versions.includes(version)) return undefined
  const { name, namespace } = asFields(raw.metadata) ?? {}
  const document = new LiveDocument(raw)
  const resource: Written = {
    kind,
    group,
    kindName,
    namespace: kind.namespaced ? asText(namespace) : undefined,
    name: asText(name),
    raw,
    file: '',
    document,
    path: [],
  }
  document.label = labelOf(resource)
  return resource
}

/** One object, whose parts are located by name, since there are no lines. */
class LiveDocument implements SourceDocument {
  readonly index = 1
  readonly of = 1
  readonly empty = false
  readonly broken = false
  readonly value: Fields
  label = ''

  constructor(value: Fields) {
    this.value = value
  }

  resolve = ({ code, message, path, label, help, note }: Finding): Diagnostic => ({
    code,
    severity: severityOf(code),
    message,
    file: this.origin(path).file,
    range: { start: NOWHERE, end: NOWHERE },
    path: formatPath(path),
    related: [],
    ...(label === undefined ? {} : { label }),
    ...(help === undefined ? {} : { help }),
    ...(note === undefined ? {} : { note }),
  })

  /** `HTTPRoute prod/chat rule 2`, `Gateway prod/edge listener https`. */
  origin = (path: Path): Origin => {
    const [spec, list, index] = path
    const part = spec === 'spec' && typeof index === 'number' ? PARTS[String(list)] : undefined
    const item =
      part === undefined
        ? undefined
        : asFields((asFields(this.value.spec)?.[String(list)] as unknown[])?.[index as number])
    const of = part === undefined ? '' : ` ${part} ${asText(item?.name) ?? String(index)}`
    return { file: `${this.label}${of}`, line: 0, col: 0, key: `${this.label} ${formatPath(path)}` }
  }
}

const PARTS: Readonly<Record<string, string>> = { rules: 'rule', listeners: 'listener' }
const NOWHERE = { line: 0, col: 0, offset: 0 }
