import {
  describeScopes,
  fieldNames,
  VARIABLES,
  type VariableField,
  variableAt,
  variableNamed,
} from '../../cel/variables.ts'
import { KINDS } from '../../cluster/kinds/index.ts'
import { standalone } from '../../config/standalone/standalone.ts'
import { CODES, type Code } from '../../diagnostics/codes.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { type FieldFacts, fieldsNamed, findField } from './fields.ts'

export interface CodeFacts {
  readonly code: Code
  readonly severity: string
  readonly title: string
  readonly text: string
}

export interface VariableFacts {
  readonly name: string
  readonly type: string
  readonly doc: string
  readonly scopes: string
  readonly fields: readonly { readonly name: string; readonly type: string; readonly doc: string }[]
}

export type Explained =
  | { readonly about: 'code'; readonly facts: CodeFacts }
  | { readonly about: 'field'; readonly facts: FieldFacts }
  | { readonly about: 'variable'; readonly facts: VariableFacts }

/**
 * Explains a code, a field or a variable. `recursive`: including everything below the field. Throws a usage Failure
 * that names the nearest topic.
 */
export function explain(topic: string, recursive = false): Explained {
  const code = topic.toUpperCase()
  if (/^GW\d+$/.test(code)) return { about: 'code', facts: codeFacts(code) }
  if (topic.startsWith('cel:')) return { about: 'variable', facts: variableFacts(topic.slice('cel:'.length)) }
  return { about: 'field', facts: fieldFacts(topic, recursive) }
}

function codeFacts(code: string): CodeFacts {
  if (!Object.hasOwn(CODES, code)) throw unknown(`there is no code ${code}`, code, Object.keys(CODES).sort())
  const { severity, title, text } = CODES[code as Code]
  return { code: code as Code, severity, title, text }
}

function variableFacts(path: string): VariableFacts {
  const [root = ''] = path.split('.')
  const found = variableAt(path)
  const variable = variableNamed(root)
  if (found === undefined || variable === undefined) {
    const parent = path.slice(0, path.lastIndexOf('.'))
    const inside = variable && path.includes('.') ? fieldNames(parent) : []
    const known = variable ? inside.map(name => `cel:${parent}.${name}`) : VARIABLES.map(({ name }) => `cel:${name}`)
    throw unknown(`there is no variable ${path}`, `cel:${path}`, known)
  }
  return {
    name: path,
    type: typeName(found),
    doc: found.doc,
    scopes: describeScopes(found.scopes ?? variable.scopes),
    fields: fieldNames(path).map(name => {
      const field = variableAt(`${path}.${name}`)!
      return { name, type: typeName(field), doc: field.doc }
    }),
  }
}

function typeName({ type }: VariableField): string {
  if (type === 'dyn') return 'any'
  if (type === 'strings') return 'list of strings'
  return typeof type === 'string' ? type : 'map'
}

function fieldFacts(topic: string, recursive: boolean): FieldFacts {
  const steps = topic
    .replace(/\[[^\]]*\]/g, '')
    .replaceAll('<name>', 'NAME')
    .split('.')
    .filter(step => step !== '')
  const kind = KINDS.find(each =>
    [each.kind, each.own?.alias].some(name => name?.toLowerCase() === steps[0]?.toLowerCase()),
  )
  const found = kind
    ? findField(kind.kind, kind.schema, steps.slice(1), recursive)
    : findField('', standalone, steps, recursive)
  if (!('unknown' in found)) return found
  const named = kind ? fieldsNamed(kind.kind, kind.schema, steps.slice(1)) : fieldsNamed('', standalone, steps)
  const elsewhere = kind || named.length > 0 ? [] : KINDS.flatMap(each => fieldsNamed(each.kind, each.schema, steps))
  const [first, ...others] = [...named, ...elsewhere]
  if (first !== undefined && steps.length > (kind ? 1 : 0)) {
    return { ...fieldFacts(first, recursive), ...(others.length > 0 && { others }) }
  }
  const at = found.at === '' ? 'the standalone configuration' : found.at
  const known = steps.length === 1 && !kind ? [...found.known, ...KINDS.map(each => each.kind)] : found.known
  const names =
    steps.length === 1 ? fieldsNamed('', standalone, []).map(path => path.slice(path.lastIndexOf('.') + 1)) : []
  throw unknown(`there is no field ${found.unknown} in ${at}`, found.unknown, known, names)
}

/** `more`: other candidates, too many to list. */
function unknown(message: string, word: string, known: readonly string[], more: readonly string[] = []): Failure {
  const guess = didYouMean(word, new Set([...known, ...more]))
  const list = known.length === 0 ? '' : ` There is: ${known.join(', ')}.`
  return new Failure('usage', `${message}${guess === undefined ? `.${list}` : `: ${guess}`}`)
}
