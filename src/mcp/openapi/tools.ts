import { isFieldName } from '../../http/field-value.ts'
import { isObject, type JsonObject } from '../message.ts'
import { resolved } from './document.ts'
import { type Operation, PARAMETER_PLACES, type Parameter, type RequestBody } from './operation.ts'
import { SchemaBudget, ToolSchemas } from './schemas.ts'

/** The tools of a document, and the operation of each. */
export interface OpenApiTools {
  readonly operations: ReadonlyMap<string, Operation>
  /** As listed by `tools/list`. */
  readonly tools: readonly JsonObject[]
  readonly title: string
  readonly version: string
  readonly remarks: readonly Remark[]
}

/** A remark for the document's author. */
export interface Remark {
  readonly kind: 'empty' | 'unnamed' | 'repeated' | 'partial'
  readonly message: string
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const MAX_TOOLS = 5000
const MAX_SCHEMAS = 1_000_000
/** MCP's limit on names, less the target prefix. */
const MAX_NAME = 128
const MAX_TITLE = 64

/** `base`: the server's base path. Undefined to take the document's. */
export function toolsOf(document: JsonObject, base?: string): OpenApiTools {
  const budget = new SchemaBudget(MAX_SCHEMAS)
  const operations = new Map<string, Operation>()
  const tools: JsonObject[] = []
  const remarks: Remark[] = []
  const prefix = (base ?? serverPath(document)).replace(/\/+$/, '')
  for (const { path, method, item, operation } of operationsIn(document)) {
    const where = `${method.toUpperCase()} ${path}`
    const id = operation.operationId
    const name = nameOf(typeof id === 'string' && id !== '' ? id : `${method}${path}`)
    if (typeof id !== 'string' || id === '') {
      remarks.push({ kind: 'unnamed', message: `${where} has no \`operationId\`: its tool is called \`${name}\`` })
    }
    if (operations.has(name)) {
      remarks.push({ kind: 'repeated', message: `${where} is left out: another operation is called \`${name}\`` })
      continue
    }
    if (operations.size === MAX_TOOLS) {
      remarks.push({ kind: 'partial', message: `only the first ${MAX_TOOLS} operations are tools` })
      break
    }
    const made = toolOf({ document, name, method, path: joined(prefix, path), item, operation }, budget)
    if (typeof made === 'string') remarks.push({ kind: 'partial', message: `${where} is left out: ${made}` })
    else {
      operations.set(name, made.operation)
      tools.push(made.tool)
    }
  }
  if (operations.size === 0)
    remarks.push({ kind: 'empty', message: 'the document describes no operation: there are no tools' })
  for (const ref of budget.lost) {
    remarks.push({
      kind: 'partial',
      message: `\`${ref.slice(0, 128)}\` is not defined in the document: any value is accepted there`,
    })
  }
  if (budget.left < 0)
    remarks.push({ kind: 'partial', message: 'the schemas are too large in total: the last tools accept anything' })
  const { title, version } = isObject(document.info) ? document.info : {}
  return {
    operations,
    tools,
    title: typeof title === 'string' ? title : 'OpenAPI',
    version: typeof version === 'string' ? version : '',
    remarks,
  }
}

interface Found {
  readonly path: string
  readonly method: string
  readonly item: JsonObject
  readonly operation: JsonObject
}

function* operationsIn(document: JsonObject): Generator<Found> {
  const paths = isObject(document.paths) ? document.paths : {}
  for (const [path, value] of Object.entries(paths)) {
    const item = path.startsWith('/') ? resolved(document, value) : undefined
    if (!item) continue
    for (const method of METHODS) {
      const operation = item[method]
      if (isObject(operation)) yield { path, method, item, operation }
    }
  }
}

/** Restricts names to what model providers accept. */
function nameOf(text: string): string {
  const name = text.replace(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+(?=.)|_+$/g, '')
  return name.slice(0, MAX_NAME)
}

function joined(prefix: string, path: string): string {
  return prefix === '' || prefix.startsWith('/') ? prefix + path : `/${prefix}${path}`
}

/** The path of the first server: its address is configured. */
function serverPath({ servers }: JsonObject): string {
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined
  if (!isObject(first) || typeof first.url !== 'string') return ''
  const variables = isObject(first.variables) ? first.variables : {}
  const text = first.url.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    return isObject(variable) && typeof variable.default === 'string' ? variable.default : ''
  })
  return URL.parse(text, 'http://server')?.pathname ?? ''
}

interface Described extends Found {
  readonly document: JsonObject
  readonly name: string
}

/** Returns text if there is no such tool: the reason. */
function toolOf(
  { document, name, method, path, item, operation }: Described,
  budget: SchemaBudget,
): { readonly tool: JsonObject; readonly operation: Operation } | string {
  const schemas = new ToolSchemas(document, budget)
  const properties: Record<string, JsonObject> = {}
  const required: string[] = []
  const described = parametersOf(document, item, operation)
  for (const place of PARAMETER_PLACES) {
    const here = described.filter(({ parameter }) => parameter.in === place)
    if (here.length === 0) continue
    const names = here.flatMap(({ parameter }) => (parameter.required ? [parameter.name] : []))
    if (names.length > 0) required.push(place)
    properties[place] = {
      type: 'object',
      properties: Object.fromEntries(
        here.map(({ parameter, schema, description }) => [
          parameter.name,
          { ...schemas.schema(schema), ...(description === undefined ? {} : { description }) },
        ]),
      ),
      required: names,
      additionalProperties: false,
    }
  }
  const parameters = described.map(({ parameter }) => parameter)
  const missing = [...path.matchAll(/\{([^{}]*)\}/g)].find(
    ([, each]) => !parameters.some(parameter => parameter.in === 'path' && parameter.name === each),
  )
  if (missing) return `its path names \`{${missing[1]}}\`, which is not one of its parameters`
  const body = bodyOf(document, operation)
  if (typeof body === 'string') return body
  if (body) {
    properties.body = body.form === 'binary' ? BASE64 : schemas.schema(body.schema)
    if (body.required) required.push('body')
  }
  const $defs = schemas.definitions()
  const { summary, description } = operation
  const short = typeof summary === 'string' && summary !== '' ? summary : undefined
  const tool = {
    name,
    ...(short !== undefined && short.length <= MAX_TITLE ? { title: short } : {}),
    description: typeof description === 'string' && description !== '' ? description : (short ?? name),
    inputSchema: {
      type: 'object',
      properties,
      required,
      additionalProperties: false,
      ...($defs === undefined ? {} : { $defs }),
    },
  }
  return { tool, operation: { method: method.toUpperCase(), path, parameters, body } }
}

const BASE64 = { type: 'string', format: 'byte', description: 'Base64-encoded binary content' }

interface DescribedParameter {
  readonly parameter: Parameter
  readonly schema: unknown
  readonly description: string | undefined
}

/** An operation's parameters override those of its path with the same name and location. */
function parametersOf(document: JsonObject, item: JsonObject, operation: JsonObject): DescribedParameter[] {
  const out = new Map<string, DescribedParameter>()
  for (const list of [item.parameters, operation.parameters]) {
    for (const each of Array.isArray(list) ? (list as unknown[]) : []) {
      const described = parameterOf(resolved(document, each))
      if (described) out.set(`${described.parameter.in} ${described.parameter.name}`, described)
    }
  }
  return [...out.values()]
}

/** Headers that parameters cannot set; OpenAPI itself excludes three of them. */
const OWN_FIELDS = new Set([
  ...['accept', 'accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'cookie'],
  ...['expect', 'forwarded', 'host', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
])

function parameterOf(value: JsonObject | undefined): DescribedParameter | undefined {
  if (!value || typeof value.name !== 'string') return undefined
  const { name, description } = value
  const place = PARAMETER_PLACES.find(each => each === value.in)
  if (!place) return undefined
  if (place === 'header' && (!isFieldName(name) || OWN_FIELDS.has(name.toLowerCase()))) return undefined
  if (place === 'cookie' && !isFieldName(name)) return undefined
  const form = place === 'query' || place === 'cookie'
  const style = typeof value.style === 'string' ? value.style : form ? 'form' : 'simple'
  const content = isObject(value.content) ? Object.values(value.content)[0] : undefined
  return {
    parameter: {
      name,
      in: place,
      required: place === 'path' || value.required === true,
      style,
      explode: typeof value.explode === 'boolean' ? value.explode : style === 'form',
      reserved: value.allowReserved === true,
      json: isObject(content),
    },
    schema: isObject(content) ? content.schema : value.schema,
    description: typeof description === 'string' ? description : undefined,
  }
}

/** Returns text if the operation requires a body that cannot be sent. */
function bodyOf(
  document: JsonObject,
  operation: JsonObject,
): (RequestBody & { readonly schema: unknown }) | string | undefined {
  if (operation.requestBody === undefined) return undefined
  const value = resolved(document, operation.requestBody)
  if (!value || !isObject(value.content)) return 'its body is not described'
  const types = Object.keys(value.content)
  for (const form of FORMS) {
    const type = types.find(each => form.takes(mediaType(each)))
    if (type === undefined) continue
    const content = value.content[type]
    const schema = isObject(content) ? content.schema : undefined
    const sent = type.includes('*') ? form.standard : type
    return { type: sent, form: form.name, required: value.required === true, files: filesIn(document, schema), schema }
  }
  return undefined
}

/** Form members that hold bytes. */
function filesIn(document: JsonObject, schema: unknown): string[] {
  const properties = resolved(document, schema)?.properties
  if (!isObject(properties)) return []
  const isFile = (value: unknown): boolean => {
    const each = resolved(document, value)
    if (!each) return false
    return each.type === 'array' ? isFile(each.items) : each.format === 'binary' || each.contentEncoding === 'base64'
  }
  return Object.keys(properties).filter(name => isFile(properties[name]))
}

function mediaType(type: string): string {
  return (type.split(';', 1)[0] as string).trim().toLowerCase()
}

interface BodyForm {
  readonly name: RequestBody['form']
  /** Sent if the document names a range such as `*\/*`. */
  readonly standard: string
  takes(type: string): boolean
}

/** Supported body formats, those that describe their arguments best first. */
const FORMS: readonly BodyForm[] = [
  {
    name: 'json',
    standard: 'application/json',
    takes: type => /^(application\/(json|\*)|\*\/\*)$/.test(type) || type.endsWith('+json'),
  },
  {
    name: 'urlencoded',
    standard: 'application/x-www-form-urlencoded',
    takes: type => type === 'application/x-www-form-urlencoded',
  },
  { name: 'multipart', standard: 'multipart/form-data', takes: type => /^multipart\/(form-data|\*)$/.test(type) },
  { name: 'text', standard: 'text/plain', takes: type => type.startsWith('text/') || type.endsWith('xml') },
  { name: 'binary', standard: 'application/octet-stream', takes: () => true },
]
