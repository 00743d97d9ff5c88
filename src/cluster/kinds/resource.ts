import {
  type Fields,
  integer,
  json,
  list,
  map,
  type ObjectSchema,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  string,
} from '../../schema/builder.ts'
import { dnsLabel, labelKeyProblem, labelValue, subdomain } from '../../schema/resource-scalars.ts'
import type { Rule } from '../../schema/rules.ts'

/** One kind of declarative resource: its names and its schema. */
export interface ResourceKind {
  /** The canonical name; documents may use one of `aliases` instead. */
  readonly kind: string
  /** Empty for the core group. */
  readonly group: string
  readonly versions: readonly string[]
  /** Set for the kinds of this project: accepted in any group under `kind`, and in one public group under the alias. */
  readonly own?: OwnKind
  readonly namespaced: boolean
  readonly schema: Schema<unknown>
}

export interface OwnKind {
  readonly alias: string
  readonly aliasGroup: string
  /** The short name of the kind, for each of its names. */
  readonly short: string
  readonly aliasShort: string
  /** Columns of `kubectl get`, before the age. */
  readonly columns: readonly Column[]
  /** It modifies the behavior of other resources. */
  readonly attaches: boolean
}
interface Column {
  readonly name: string
  readonly type: 'string'
  readonly jsonPath: string
}
/** The status of a condition, with `conditions` anywhere in the status. */
export function conditionColumn(type: string, conditions: string): Column {
  return { name: type, type: 'string', jsonPath: `${conditions}[?(@.type=="${type}")].status` }
}

const metadataFields = {
  name: opt(string({ max: 253 }), 'The name of the resource.'),
  generateName: opt(string({ max: 253 }), 'A prefix from which the API server makes the name.'),
  namespace: opt(dnsLabel, 'The namespace; `default` when unset.'),
  labels: opt(map(labelValue, { keys: labelKeyProblem }), 'Labels, for selectors.'),
  annotations: opt(map(string(), { keys: labelKeyProblem }), 'Annotations for tools.'),
  uid: opt(string(), 'Set by the API server.'),
  resourceVersion: opt(string(), 'Set by the API server.'),
  generation: opt(integer(), 'Set by the API server.'),
  creationTimestamp: opt(json, 'Set by the API server.'),
  deletionTimestamp: opt(json, 'Set by the API server.'),
  deletionGracePeriodSeconds: opt(integer(), 'Set by the API server.'),
  selfLink: opt(string(), 'Set by the API server.'),
  ownerReferences: opt(list(json), 'Resources that own this one.'),
  finalizers: opt(list(string()), 'What must happen before the resource is deleted.'),
  managedFields: opt(list(json), 'Set by the API server.'),
}

/** `name`: the format of the kind's names. */
function metadata(name: Schema<string>) {
  return object(
    'metadata',
    { ...metadataFields, name: opt(name, metadataFields.name.doc) },
    { atLeastOneOf: [['name', 'generateName']] },
  )
}

/** What identifies a kind's documents, before its fields are loaded. */
type Identity = Omit<ResourceKind, 'schema'>
interface KindOptions {
  /** The format of names. */
  readonly name?: Schema<string>
  readonly check?: Rule
}
type Documented<F extends Fields> = Identity & {
  readonly schema: ObjectSchema<ReturnType<typeof identifying> & F>
}

/** A kind whose documents have `apiVersion`, `kind`, `metadata` and these fields. */
export function defineKind<F extends Fields>(identity: Identity, fields: F, o: KindOptions = {}): Documented<F> {
  const { name = subdomain, ...rest } = o
  return { ...identity, schema: object(identity.kind, { ...identifying(identity, name), ...fields }, rest) }
}

function identifying({ kind, group, versions, own }: Identity, name: Schema<string>) {
  const apiVersion: Schema<string> = own
    ? string({ pattern: /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/v1alpha1$/, form: 'an API group and `v1alpha1`' })
    : oneOf(versions.map(version => (group === '' ? version : `${group}/${version}`)))
  const kinds: Schema<string> = oneOf(own ? [kind, own.alias] : [kind])
  return {
    apiVersion: req(apiVersion, 'API group and version.'),
    kind: req(kinds, 'The kind of resource.'),
    metadata: req(metadata(name), 'Name, namespace, labels and annotations.'),
  }
}

/** The status of other projects' kinds: not checked. */
export const foreignStatus = opt(map(json), 'Written by controllers.')

const condition = object('condition', {
  type: req(string({ min: 1, max: 316 }), 'Type of the condition.'),
  status: req(oneOf(['True', 'False', 'Unknown']), 'Status of the condition.'),
  reason: req(
    string({ min: 1, max: 1024, pattern: /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/, form: 'a CamelCase reason' }),
    'Machine-readable reason.',
  ),
  message: req(string({ max: 32768 }), 'Human-readable explanation.'),
  lastTransitionTime: req(string({ min: 1 }), 'When `status` last changed.'),
  observedGeneration: opt(integer(0), 'The generation that was observed.'),
})
export function conditions(min = 0): Schema<unknown> {
  return list(condition, { min, max: 8, unique: ['type'] })
}

const requirement = object('label expression', {
  key: req(string({ min: 1 }), 'The label.'),
  operator: req(oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist']), 'How the value is compared.'),
  values: opt(list(string()), 'The values; none for Exists and DoesNotExist.'),
})
export const labelSelector = object('label selector', {
  matchLabels: opt(map(labelValue, { keys: labelKeyProblem }), 'Labels that must have exactly these values.'),
  matchExpressions: opt(list(requirement), 'Conditions on labels; all must hold.'),
})
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}
