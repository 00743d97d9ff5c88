import {
  integer,
  type ListOptions,
  list,
  object,
  type Problem,
  parsed,
  type Schema,
  serverRule,
  shapes,
  string,
  urlText,
} from './builder.ts'
import { byteSize, parseDuration } from './scalars.ts'

/** The scalar types of declarative resources, as validated by a Kubernetes API server. */
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export const refName = string({ min: 1, max: 253 })
export const subdomain = string({
  min: 1,
  max: 253,
  pattern: DNS_SUBDOMAIN,
  form: 'a name of lower-case letters, digits, `-` and `.`',
})
export const dnsLabel = string({
  min: 1,
  max: 63,
  pattern: DNS_LABEL,
  form: 'a name of lower-case letters, digits and `-`',
})
export const serviceName = string({
  min: 1,
  max: 63,
  pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  form: 'a name of lower-case letters, digits and `-` that starts with a letter',
})
export const groupName = string({
  max: 253,
  pattern: /^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  form: 'an API group: empty, or a DNS name',
})
export const kindName = string({ min: 1, max: 63, pattern: /^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$/, form: 'a kind' })
/** May start with `*.`. */
export const hostname = string({
  min: 1,
  max: 253,
  pattern: /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  form: 'a host name of lower-case labels, `*.` in front if wanted',
})
export const preciseHostname = string({
  min: 1,
  max: 253,
  pattern: DNS_SUBDOMAIN,
  form: 'a host name of lower-case labels',
})
/** Excludes pseudo-headers. */
export const plainHeaderName = string({ min: 1, max: 256, pattern: TOKEN, form: 'a header name' })
/** A field name, or one of the pseudo-headers. */
export const pseudoHeaderName = string({
  min: 1,
  max: 256,
  pattern: /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+|:(authority|method|path|scheme|status))$/,
  form: 'a header name, or one of `:authority`, `:method`, `:path`, `:scheme`, `:status`',
})
export const intOrString = shapes({ string: string(), number: integer() })

/** `^([0-9]{1,5}(h|m|s|ms)){1,4}$` → milliseconds, at least `min`. */
export function resourceDuration(min = 0): Schema<number> {
  const least = min % 1000 === 0 ? `${min / 1000}s` : `${min}ms`
  const atLeast = min === 0 ? '' : `, at least ${least}`
  return parsed(
    shapes({ string: string({ max: 32 }), number: anyNumber }),
    `a duration such as \`30s\` or \`5m\`${atLeast}`,
    value => {
      if (typeof value === 'string' && RESOURCE_DURATION.test(value)) {
        const ms = parseDuration(value) as number
        return ms >= min ? { value: ms } : { problem: { message: `\`${value}\` is too short: ${atLeast.slice(2)}` } }
      }
      return { problem: durationProblem(value) }
    },
    Math.max(min, 60_000),
    { type: 'string', maxLength: 32, pattern: RESOURCE_DURATION.source },
    min === 0 ? [] : [serverRule(`duration(self) >= duration('${least}')`, `must be at least ${least}`)],
  )
}
const RESOURCE_DURATION = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/

const anyNumber: Schema<number> = {
  node: { kind: 'number', min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY },
}

function durationProblem(value: string | number): Problem {
  if (typeof value === 'number' || /^\d+$/.test(value)) {
    return { message: `\`${value}\` has no unit`, help: `write \`${value}s\` for seconds`, suggestion: `${value}s` }
  }
  const ms = parseDuration(value)
  if (ms !== undefined && ms >= 1) {
    const whole = Math.round(ms)
    const exact = whole % 1000 === 0 ? `${whole / 1000}s` : `${whole}ms`
    return {
      message: `\`${value}\` is not a duration that resources take: whole numbers of h, m, s and ms only`,
      help: `write \`${exact}\``,
      suggestion: exact,
    }
  }
  return { message: `\`${value}\` is not a duration`, help: 'write whole numbers with a unit: h, m, s or ms' }
}

/** `2Mi`, `10k`, `4096` → bytes. A bare number is 1 to 4294967295. */
export const byteQuantity: Schema<number> = shapes({ string: byteSize, number: integer(1, 4294967295) })

/** A Kubernetes quantity (`500m`, `2Gi`, `1e3`, `4`), kept as written. */
export const quantity: Schema<string | number> = shapes({
  string: string({
    min: 1,
    max: 64,
    pattern: /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+|n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/,
    form: 'a quantity such as `500m` or `2Gi`',
  }),
  number: integer(),
})

/** `http(s)://host[:port][/path]`, without user, query or fragment. */
export function endpointUrl(o: { readonly path: boolean }): Schema<string> {
  return urlText({
    min: 1,
    max: 1024,
    pattern: o.path ? /^https?:\/\/[^/?#@]+(\/[^?#]*)?$/ : /^https?:\/\/[^/?#@]+$/,
    form: o.path
      ? 'an `http://` or `https://` URL without user, query and fragment'
      : 'an `http://` or `https://` URL of host and port alone',
  })
}
export const absolutePath = urlText({ min: 1, max: 1024, pattern: /^\//, form: 'a path that starts with `/`' })

export function set<T>(item: Schema<T>, o: ListOptions = {}): Schema<readonly T[]> {
  return list(item, { ...o, unique: true })
}

export function labelKeyProblem(key: string): Problem | undefined {
  const slash = key.lastIndexOf('/')
  const prefix = slash < 0 ? undefined : key.slice(0, slash)
  const name = key.slice(slash + 1)
  if (prefix !== undefined && (prefix.length > 253 || !DNS_SUBDOMAIN.test(prefix))) {
    return { message: `\`${key}\` is not a label key: the part before \`/\` must be a DNS name` }
  }
  if (name.length > 63 || !/^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/.test(name)) {
    return { message: `\`${key}\` is not a label key: at most 63 letters, digits, \`-\`, \`_\` and \`.\`` }
  }
  return undefined
}
export const labelValue = string({
  max: 63,
  pattern: /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
  form: 'a label value: letters, digits, `-`, `_` and `.`',
})
export function dataKeyProblem(key: string): Problem | undefined {
  if (key.length <= 253 && /^[-._a-zA-Z0-9]+$/.test(key) && key !== '.' && !key.startsWith('..')) return undefined
  return { message: `\`${key}\` is not a data key: at most 253 letters, digits, \`-\`, \`_\` and \`.\`` }
}

/** `{}`: only its presence matters. */
export function empty(name: string): Schema<object> {
  return object(name, {})
}
