import { isCredentialHeader } from '../../http/credential-names.ts'
import { isFieldName, toFieldValue } from '../../http/field-value.ts'
import type { HeaderList } from '../../http/headers.ts'
import {
  type Infer,
  list,
  map,
  object,
  opt,
  type Problem,
  parsed,
  req,
  type Schema,
  type SecretField,
  secret,
  string,
} from '../../schema/builder.ts'
import { plainHeaderName, set } from '../../schema/resource-scalars.ts'
import type { Fields } from '../../schema/untyped.ts'
import { byName, defined, type Policies, strings } from './cluster-form.ts'

/** A configured header value: no control characters. */
const fieldValue = (text: Schema<string>) =>
  parsed(
    text,
    'a header value',
    value => {
      const field = toFieldValue(value)
      return field === undefined
        ? { problem: { message: 'a header value must not hold line breaks or other control characters' } }
        : { value: field }
    },
    'x',
  )

function fieldNameProblem(name: string): Problem | undefined {
  if (isFieldName(name) && name.length <= 256) return undefined
  return { message: `\`${name}\` is not a header name`, help: "use letters, digits and !#$%&'*+-.^_`|~ only" }
}

const fieldName = string({ min: 1, max: 256, pattern: /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, form: 'a header name' })

/** For an object with the name and value of a header field. */
export const credentialValue: SecretField = {
  name: 'value',
  where: ({ name }) => typeof name === 'string' && isCredentialHeader(name),
}

const headerValues = map(fieldValue(string()), {
  keys: fieldNameProblem,
  max: 64,
  secretKeys: isCredentialHeader,
})
/** Name to value, each of which may be a credential under a service-specific name. */
export const secretHeaderValues = map(fieldValue(secret({ min: 0 })), { keys: fieldNameProblem, max: 64 })

export const headerChangeFields = {
  add: opt(headerValues, 'Values to add to existing ones.'),
  set: opt(headerValues, 'Values that replace existing ones.'),
  remove: opt(list(fieldName, { max: 64 }), 'Names to remove.'),
}
export const headerChanges = object('header modifier', headerChangeFields)
export type HeaderChanges = Infer<typeof headerChanges>

const clusterValue = object(
  'header value',
  {
    name: req(plainHeaderName, 'The name of the header field.'),
    value: req(string({ min: 1, max: 4096 }), 'Its value.'),
  },
  { secretField: credentialValue },
)
const clusterChanges = object('header changes', {
  set: opt(list(clusterValue, { max: 16, unique: ['name'] }), 'Fields to replace.'),
  add: opt(list(clusterValue, { max: 16, unique: ['name'] }), 'Fields to add.'),
  remove: opt(set(string(), { max: 16 }), 'Fields to remove.'),
})

/** Changes to both heads, as written in resources. */
export const headerModifiersInCluster = object(
  'header modifiers',
  {
    request: opt(clusterChanges, 'Changes to the request’s header.'),
    response: opt(clusterChanges, 'Changes to the response’s header.'),
  },
  { atLeastOneOf: [['request', 'response']] },
)

export function convertHeaderChanges(part: Fields | undefined): Policies | undefined {
  if (!part) return undefined
  return defined({ set: byName(part.set), add: byName(part.add), remove: strings(part.remove) })
}

/** Adds, then sets, then removes. `host` is excluded: it is the authority, which the caller handles. */
export function compileHeaderChanges(spec: HeaderChanges): (headers: HeaderList) => void {
  const add = fieldsOf(spec.add)
  const set = fieldsOf(spec.set)
  const remove = (spec.remove ?? []).map(name => name.toLowerCase()).filter(name => name !== 'host')
  return headers => {
    for (const [name, value] of add) headers.append(name, value)
    for (const [name, value] of set) headers.set(name, value)
    for (const name of remove) headers.delete(name)
  }
}

/** Names in lower case, as they are sent. */
function fieldsOf(changes: Readonly<Record<string, string>> = {}): [name: string, value: string][] {
  return Object.entries(changes)
    .filter(notHost)
    .map(([name, value]) => [name.toLowerCase(), value])
}

/** The value that `set` or `add` gives `host`; undefined if none. */
export function hostChange(spec: HeaderChanges): string | undefined {
  for (const changes of [spec.set, spec.add]) {
    const entry = Object.entries(changes ?? {}).find(each => !notHost(each))
    if (entry) return entry[1]
  }
  return undefined
}

function notHost([name]: readonly [string, string]): boolean {
  return name.toLowerCase() !== 'host'
}
