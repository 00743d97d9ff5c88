import { type Field, type Infer, opt, string } from '../schema/builder.ts'
import { aiBackend } from './ai/index.ts'
import { awsBackend } from './aws.ts'
import type { BackendDefinition } from './backend.ts'
import { dynamicBackend } from './dynamic.ts'
import { internalBackend } from './internal.ts'
import { invalidBackend } from './invalid.ts'
import { mcpBackend } from './mcp/index.ts'
import { routeGroupBackend } from './route-group.ts'
import { serviceBackend } from './service.ts'
import { staticBackend } from './static.ts'

/** The kinds of backend, most common first: findings list them in this order. */
export const backends = [
  staticBackend,
  serviceBackend,
  mcpBackend,
  aiBackend,
  dynamicBackend,
  awsBackend,
  internalBackend,
  routeGroupBackend,
  invalidBackend,
] as const

// biome-ignore lint/suspicious/noExplicitAny: a list holds definitions of every spec; each is read through its own kind
type AnyBackend = BackendDefinition<string, any>
type BackendFields<L extends readonly AnyBackend[]> = {
  readonly [B in L[number] as B['kind']]: Field<Infer<B['schema']>, 'optional'>
}

function fieldsFor<L extends readonly AnyBackend[]>(list: L): BackendFields<L> {
  const fields: Record<string, Field<unknown, 'optional'>> = {}
  for (const { kind, doc, schema, spec, unserved } of list) {
    fields[kind] = opt(schema, doc, {
      ...(spec === undefined ? {} : { spec }),
      ...(unserved === undefined ? {} : { unserved }),
    })
  }
  return fields as BackendFields<L>
}

const reference = { backend: opt(string({ min: 1 }), 'A named backend of this file, `/name`.') }

/** For a route: exactly one of these. */
export const backendFields = { ...fieldsFor(backends), ...reference }
/** For an entry of `backends`. */
export const namedBackendFields = fieldsFor([
  staticBackend,
  mcpBackend,
  aiBackend,
  awsBackend,
  internalBackend,
] as const)
/** For a TCP route. */
export const tcpBackendFields = { ...fieldsFor([staticBackend, serviceBackend, dynamicBackend] as const), ...reference }
