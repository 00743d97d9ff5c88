import {
  cel,
  def,
  type Field,
  type FieldMode,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  serverRule,
  string,
  urlText,
} from './builder.ts'
import { dnsLabel, endpointUrl, groupName, kindName, plainHeaderName, refName, subdomain } from './resource-scalars.ts'
import { missing, problem } from './rules.ts'
import { port } from './scalars.ts'

export const GATEWAY_GROUP = 'gateway.networking.k8s.io'
export const INFERENCE_GROUP = 'inference.networking.k8s.io'

function isCoreService(value: Record<string, unknown>): boolean {
  return (value.group ?? '') === '' && (value.kind ?? 'Service') === 'Service'
}

function servicePort(value: Record<string, unknown>) {
  return isCoreService(value) && value.port === undefined
    ? [missing('port', 'a reference to a Service needs its port')]
    : []
}

/** A Service, a ProxyBackend or an InferencePool, in this or another namespace. */
export const backendRef = object(
  'backend reference',
  {
    name: req(refName, 'The name.'),
    namespace: opt(dnsLabel, 'The namespace, if another; it then needs a ReferenceGrant there.'),
    group: def(groupName, '', 'The API group; empty for a Service.'),
    kind: def(kindName, 'Service', 'The kind.'),
    port: opt(port, 'The port; required for a Service.'),
  },
  {
    check: servicePort,
    rules: [
      serverRule(
        "self.group != '' || self.kind != 'Service' || has(self.port)",
        'a reference to a Service needs its port',
      ),
    ],
    refers: { to: 'backend', kind: 'Service' },
  },
)

/** A Service or InferencePool in the same namespace, for custom LLM providers. */
export const modelServerRef = object(
  'model server reference',
  {
    name: req(refName, 'The name.'),
    group: opt(groupName, 'The API group; empty for a Service.'),
    kind: opt(string({ max: 63 }), '`Service` or `InferencePool`.'),
    port: opt(port, 'The port; required for a Service.'),
  },
  {
    refers: { to: 'backend', kind: 'Service' },
    check: value => {
      const pool = value.group === INFERENCE_GROUP && value.kind === 'InferencePool'
      const service = (value.group ?? '') === '' && ['', 'Service', undefined].includes(value.kind as string)
      if (!pool && !service) {
        return [problem([], `only a Service or an InferencePool of group ${INFERENCE_GROUP} can be named here`)]
      }
      return service && value.port === undefined ? [missing('port', 'a reference to a Service needs its port')] : []
    },
    rules: [
      serverRule(
        `has(self.group) && self.group == '${INFERENCE_GROUP}' ? has(self.kind) && self.kind == 'InferencePool' : (!has(self.group) || self.group == '') && (!has(self.kind) || self.kind in ['', 'Service']) && has(self.port)`,
        `must be a Service with its port, or an InferencePool of group ${INFERENCE_GROUP}`,
      ),
    ],
  },
)

/** A Service in the same namespace, by name alone. */
export const localServiceRef = object(
  'Service reference',
  { name: req(refName, 'The name of a Service in this namespace.') },
  { refers: { to: 'backend', kind: 'Service' } },
)

/** `backendRef` or `url`: the fields and their exclusive group. */
export function endpoint(o: { readonly urlPath: boolean; readonly what: string }) {
  return {
    fields: {
      backendRef: opt(backendRef, `${o.what}, as a Service or a ProxyBackend.`),
      url: opt(endpointUrl({ path: o.urlPath }), `${o.what}, as a URL.`),
    },
    group: ['backendRef', 'url'],
  }
}

/** Whether the URL has more than host and port. */
export function hasPath(url: unknown): boolean {
  return typeof url === 'string' && /^https?:\/\/[^/]+\//.test(url)
}

interface SecretOptions {
  /** The default data key; if unset, the reference has no `key` field. */
  readonly key?: string
  /** Data keys that the Secret must contain, each as a list of accepted spellings. */
  readonly keys?: readonly (readonly string[])[]
}

const credentialFields = {
  name: req(refName, 'The name of a Secret in this namespace.'),
  group: opt(groupName, 'The API group of another kind of credential.'),
  kind: opt(string({ max: 63 }), 'The kind of credential; `Secret` when unset.'),
}

function credentialKind(value: Record<string, unknown>) {
  const group = value.group ?? ''
  const kind = value.kind ?? ''
  if (group === '' && kind !== '' && kind !== 'Secret') {
    return [problem(['kind'], `\`${kind}\` needs its API group in \`group\``, { at: 'value' })]
  }
  return group !== '' && kind === '' ? [missing('kind', '`group` needs a `kind` beside it')] : []
}

const CREDENTIAL_RULES = [
  serverRule(
    "has(self.group) && self.group != '' ? has(self.kind) && self.kind != '' : !has(self.kind) || self.kind in ['', 'Secret']",
    'a credential is a Secret, or has both group and kind',
  ),
]

/** A credential in the same namespace. */
export function secretRef(o: SecretOptions = {}): Schema<Record<string, unknown>> {
  const refers = {
    to: 'data' as const,
    kind: 'Secret',
    ...(o.key === undefined ? {} : { defaultKey: o.key }),
    ...(o.keys ? { keys: o.keys } : {}),
  }
  const options = { check: credentialKind, rules: CREDENTIAL_RULES, refers }
  return o.key === undefined
    ? object('Secret reference', credentialFields, options)
    : object(
        'Secret reference',
        { ...credentialFields, key: def(refName, o.key, 'The data key that holds the value.') },
        options,
      )
}

/** A ConfigMap or Secret that holds a CA bundle under `ca.crt`. */
export const caCertificateRef = object(
  'CA certificate reference',
  {
    name: req(refName, 'The name, in this namespace.'),
    kind: def(oneOf(['ConfigMap', 'Secret']), 'ConfigMap', 'The kind.'),
  },
  { refers: { to: 'data', kind: 'ConfigMap', keys: [['ca.crt']] } },
)

/** The Gateway, listener or other parent that a route or model attaches to. */
export const parentRef = object(
  'parent reference',
  {
    group: def(groupName, GATEWAY_GROUP, 'The API group.'),
    kind: def(kindName, 'Gateway', 'The kind.'),
    name: req(refName, 'The name.'),
    namespace: opt(dnsLabel, 'The namespace, if another.'),
    sectionName: opt(subdomain, 'One listener of the parent.'),
    port: opt(port, 'Only listeners on this port.'),
  },
  { refers: { to: 'parent', kind: 'Gateway' } },
)

const header = object('credential header', {
  name: req(plainHeaderName, 'The name of the header field.'),
  prefix: opt(string({ min: 1, max: 256 }), 'Text before the credential, such as `Bearer `.'),
})
const queryParameter = object('credential query parameter', { name: req(string({ min: 1, max: 256 }), 'Its name.') })
const cookie = object('credential cookie', { name: req(string({ min: 1, max: 256 }), 'Its name.') })
const places = {
  header: opt(header, 'A header field.'),
  queryParameter: opt(queryParameter, 'A query parameter.'),
  cookie: opt(cookie, 'A cookie.'),
}

/** Where to write a credential. */
export const credentialLocation = object('credential location', places, {
  exactlyOneOf: [['header', 'queryParameter', 'cookie']],
})
/** Where to read a credential. */
export const credentialSource = object(
  'credential source',
  { ...places, expression: opt(cel('request', 'string'), 'An expression that gives the credential.') },
  { exactlyOneOf: [['header', 'queryParameter', 'cookie', 'expression']] },
)

/** The key set of an issuer, fetched from a backend. */
export function remoteKeySet(cacheDuration: Field<number, FieldMode>) {
  return object(
    'remote key set',
    {
      ...endpoint({ urlPath: true, what: 'The server of the key set' }).fields,
      jwksPath: opt(urlText({ min: 1, max: 2000 }), 'The path of the key set on `backendRef`.'),
      cacheDuration,
    },
    {
      exactlyOneOf: [['backendRef', 'url']],
      check: value => {
        if (value.backendRef && value.jwksPath === undefined)
          return [missing('jwksPath', '`backendRef` needs `jwksPath` beside it')]
        if (value.url && value.jwksPath !== undefined)
          return [problem(['jwksPath'], '`jwksPath` cannot be combined with `url`: the URL has the path')]
        return []
      },
      rules: [
        serverRule('has(self.jwksPath) == has(self.backendRef)', 'jwksPath goes with backendRef, and only with it'),
      ],
    },
  )
}
