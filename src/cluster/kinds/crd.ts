import type { ObjectNode, Schema } from '../../schema/builder.ts'
import type { JsonSchema } from '../../schema/emit.ts'
import { emitStructural } from '../../schema/emit-structural.ts'
import { KINDS } from './index.ts'
import type { OwnKind, ResourceKind } from './resource.ts'

export interface CrdOptions {
  /** The API group of the Proxy kinds; with `public` always the public one. */
  readonly group?: string
  /** Use the names of the public system instead of our own. */
  readonly public: boolean
}

/** The CustomResourceDefinitions of our kinds, generated from the declarations that `validate` uses. */
export function customResourceDefinitions(options: CrdOptions): readonly JsonSchema[] {
  return KINDS.flatMap(kind => (kind.own ? [definition(kind, kind.own, options)] : []))
}

function definition(kind: ResourceKind, own: OwnKind, options: CrdOptions): JsonSchema {
  const group = options.public ? own.aliasGroup : (options.group ?? kind.group)
  const names = namesOf(options.public ? own.alias : kind.kind, options.public ? own.aliasShort : own.short)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${names.plural}.${group}`,
      labels: {
        'app.kubernetes.io/name': CATEGORY,
        ...(own.attaches ? { 'gateway.networking.k8s.io/policy': 'Direct' } : {}),
      },
    },
    spec: {
      group,
      names,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      versions: kind.versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        additionalPrinterColumns: [...own.columns, AGE],
        schema: { openAPIV3Schema: rootSchema(kind.schema) },
        subresources: { status: {} },
      })),
    },
  }
}

const CATEGORY = 'agentgateway'
const AGE = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

function namesOf(kind: string, short: string) {
  const singular = kind.toLowerCase()
  return {
    categories: [CATEGORY],
    kind,
    listKind: `${kind}List`,
    plural: plural(singular),
    shortNames: [short],
    singular,
  }
}

/** The plural by which the API server names a kind in paths and rules. */
export function pluralOf(kind: string): string {
  return plural(kind.toLowerCase())
}

function plural(singular: string): string {
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`
  if (singular.endsWith('ss')) return `${singular}es`
  return singular.endsWith('s') ? singular : `${singular}s`
}

/** The API server checks the common fields by itself, and rejects schemas for them. */
function rootSchema(schema: Schema<unknown>): JsonSchema {
  const { properties, ...rest } = emitStructural(schema) as JsonSchema & { properties: JsonSchema }
  const { node } = schema as { node: ObjectNode }
  const { apiVersion, kind } = node.fields
  return {
    ...rest,
    required: Object.keys(node.fields).filter(name => !IDENTIFYING.has(name) && node.fields[name]!.mode === 'required'),
    properties: {
      ...properties,
      apiVersion: { type: 'string', description: apiVersion!.doc },
      kind: { type: 'string', description: kind!.doc },
      metadata: { type: 'object' },
    },
  }
}
const IDENTIFYING = new Set(['apiVersion', 'kind', 'metadata'])
