import { toFieldValue } from '../../http/field-value.ts'
import { isExactNumber } from '../exact-json.ts'
import { isObject, type JsonObject } from '../message.ts'
import { ArgumentProblem } from './argument-problem.ts'
import { encodeBody } from './body.ts'
import { type Operation, PARAMETER_PLACES, type Parameter, type RequestBody } from './operation.ts'

export interface ApiRequest {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  /** Alternating names and values. */
  readonly fields: readonly string[]
  readonly body: Buffer | undefined
}

/** Builds the request for a tool's arguments. Throws ArgumentProblem. `boundary`: for multipart bodies. */
export function requestFor(operation: Operation, given: unknown, boundary: () => string): ApiRequest {
  const args = given === undefined ? {} : given
  if (!isObject(args)) throw new ArgumentProblem('`arguments` must be an object')
  const groups = groupsOf(operation, args)
  let { path } = operation
  const query: string[] = []
  const fields = ['accept', 'application/json']
  const cookies: string[] = []
  for (const parameter of operation.parameters) {
    const value = groups[parameter.in]?.[parameter.name]
    if (value === undefined || value === null) {
      if (parameter.required) throw new ArgumentProblem(`\`${shownName(parameter)}\` is required`)
      continue
    }
    if (parameter.in === 'path') path = path.replaceAll(`{${parameter.name}}`, () => segment(parameter, value))
    else if (parameter.in === 'query') query.push(...pairs(parameter, value))
    else if (parameter.in === 'cookie') cookies.push(...pairs(parameter, value))
    else fields.push(parameter.name, fieldValue(parameter, value))
  }
  if (cookies.length > 0) fields.push('cookie', cookies.join('; '))
  const body = operation.body && encodeBody(operation.body, args.body, boundary)
  if (body) fields.push('content-type', body.type)
  const asked = query.length === 0 ? path : `${path}?${query.join('&')}`
  return { method: operation.method, path: asked, fields, body: body?.bytes }
}

/** Unknown arguments are rejected: a request must not exceed its operation. */
function groupsOf({ parameters, body }: Operation, args: JsonObject): Readonly<Record<string, JsonObject>> {
  const groups: Record<string, JsonObject> = {}
  for (const [name, value] of Object.entries(args)) {
    if (name === 'body' && body) continue
    const known = parameters.filter(parameter => parameter.in === name)
    if (known.length === 0)
      throw new ArgumentProblem(
        `\`${name.slice(0, 64)}\` is not an argument of this tool: ${groupNames(parameters, body)}`,
      )
    if (!isObject(value)) throw new ArgumentProblem(`\`${name}\` must be an object`)
    const foreign = Object.keys(value).find(each => !known.some(parameter => parameter.name === each))
    if (foreign !== undefined) {
      const names = known.map(parameter => `\`${parameter.name}\``).join(', ')
      throw new ArgumentProblem(
        `\`${name}.${foreign.slice(0, 64)}\` is not a parameter of this tool: \`${name}\` has ${names}`,
      )
    }
    groups[name] = value
  }
  return groups
}

function groupNames(parameters: readonly Parameter[], body: RequestBody | undefined): string {
  const groups: string[] = PARAMETER_PLACES.filter(place => parameters.some(parameter => parameter.in === place))
  const all = body ? [...groups, 'body'] : groups
  return all.length === 0 ? 'it takes none' : `it takes ${all.map(name => `\`${name}\``).join(', ')}`
}

/** A path segment: it must remain a single one, however the server treats dots. */
function segment(parameter: Parameter, value: unknown): string {
  const { name, style, explode } = parameter
  const items = itemsOf(parameter, value, explode ? '=' : ',').map(encodeURIComponent)
  // Object members keep the separator between name and value.
  const kept = isRecord(value) ? items.map(item => item.replaceAll('%3D', '=').replaceAll('%2C', ',')) : items
  const text =
    style === 'label'
      ? `.${kept.join(explode ? '.' : ',')}`
      : style === 'matrix'
        ? matrix(name, kept, parameter, value)
        : kept.join(',')
  if (/^\.{0,2}$/.test(text))
    throw new ArgumentProblem(`\`path.${name}\` cannot be ${JSON.stringify(text)}: it is a part of the path`)
  return text
}

function matrix(name: string, items: readonly string[], { explode }: Parameter, value: unknown): string {
  if (!explode) return `;${name}=${items.join(',')}`
  return items.map(item => (isRecord(value) ? `;${item}` : `;${name}=${item}`)).join('')
}

function pairs(parameter: Parameter, value: unknown): string[] {
  const { name, style, explode, reserved } = parameter
  const encode = reserved ? encodeUnreserved : encodeURIComponent
  const key = encodeURIComponent(name)
  if (parameter.json) return [`${key}=${encode(JSON.stringify(value))}`]
  if (isRecord(value)) {
    const members = Object.entries(value).filter(([, each]) => each !== undefined && each !== null)
    if (style === 'deepObject') {
      return members.map(
        ([member, each]) => `${key}%5B${encodeURIComponent(member)}%5D=${encode(textOf(parameter, each))}`,
      )
    }
    if (explode)
      return members.map(([member, each]) => `${encodeURIComponent(member)}=${encode(textOf(parameter, each))}`)
    return [
      `${key}=${members.flatMap(([member, each]) => [encodeURIComponent(member), encode(textOf(parameter, each))]).join(',')}`,
    ]
  }
  if (!Array.isArray(value)) return [`${key}=${encode(textOf(parameter, value))}`]
  const items = value.map(each => encode(textOf(parameter, each)))
  if (explode) return items.map(item => `${key}=${item}`)
  return [`${key}=${items.join(style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ',')}`]
}

function fieldValue(parameter: Parameter, value: unknown): string {
  const text = parameter.json
    ? JSON.stringify(value)
    : itemsOf(parameter, value, parameter.explode ? '=' : ',').join(',')
  const field = toFieldValue(text)
  if (field === undefined) throw new ArgumentProblem(`\`${shownName(parameter)}\` holds control characters`)
  return field
}

/** The items of a list, the members of an object, or the single value. */
function itemsOf(parameter: Parameter, value: unknown, between: string): string[] {
  if (parameter.json) return [JSON.stringify(value)]
  if (Array.isArray(value)) return value.map(each => textOf(parameter, each))
  if (!isRecord(value)) return [textOf(parameter, value)]
  return Object.entries(value).map(([name, each]) => `${name}${between}${textOf(parameter, each)}`)
}

function textOf(parameter: Parameter, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value === null) return ''
  if (isExactNumber(value)) return JSON.stringify(value)
  throw new ArgumentProblem(`\`${shownName(parameter)}\` contains nested lists or objects`)
}

/** Excludes numbers kept as text for their precision. */
function isRecord(value: unknown): value is JsonObject {
  return isObject(value) && !isExactNumber(value)
}

function shownName(parameter: Parameter): string {
  return `${parameter.in}.${parameter.name}`
}

/** RFC 6570 `{+name}`: reserved characters are kept, except those that would end the value. */
function encodeUnreserved(text: string): string {
  return encodeURI(text).replace(/[#&+]/g, encodeURIComponent)
}
