import { parse } from '@bufbuild/cel'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'

const root = new URL('../../', import.meta.url)
// biome-ignore lint/suspicious/noExplicitAny: a definition is read as anything that its reader expects
type Json = Record<string, any>

async function crds(...argv: string[]) {
  const io = memoryIo({})
  const code = await main(['crds', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

async function definitions(...argv: string[]): Promise<Json[]> {
  const { out } = await crds(...argv)
  return parseAllDocuments(out).map(document => document.toJS() as Json)
}

function names(list: readonly Json[]): unknown[] {
  return list.map(({ metadata }) => metadata.name)
}

/** Every schema in a definition with where it stands. */
function* schemasIn(schema: Json, path = ''): Generator<readonly [string, Json]> {
  yield [path, schema]
  for (const [name, field] of Object.entries(schema.properties ?? {}))
    yield* schemasIn(field as Json, `${path}.${name}`)
  if (schema.items) yield* schemasIn(schema.items, `${path}[]`)
  if (schema.additionalProperties) yield* schemasIn(schema.additionalProperties, `${path}{}`)
}

async function schemas(): Promise<(readonly [string, Json])[]> {
  return (await definitions()).flatMap(({ spec }) => {
    const [version] = spec.versions
    return [...schemasIn(version.schema.openAPIV3Schema, spec.names.kind)]
  })
}

describe('names', () => {
  test('use our own group by default', async () => {
    expect(names(await definitions())).toEqual([
      'proxybackends.agentgateway.dev',
      'proxymodels.agentgateway.dev',
      'proxypolicies.agentgateway.dev',
      'proxyparameters.agentgateway.dev',
    ])
  })

  test('can use a custom group', async () => {
    const [backend] = await definitions('--group', 'gateway.example.com')
    expect(backend).toMatchObject({
      metadata: { name: 'proxybackends.gateway.example.com' },
      spec: { group: 'gateway.example.com', names: { kind: 'ProxyBackend', listKind: 'ProxyBackendList' } },
    })
  })

  test('can be the public ones', async () => {
    const list = await definitions('--public')
    expect(names(list)).toContain('agentgatewaypolicies.agentgateway.dev')
    expect(list[1]).toMatchObject({ spec: { names: { listKind: 'AgentgatewayModelList', shortNames: ['agmodel'] } } })
  })

  test('do not overlap between both sets, so that they can be installed together', async () => {
    const all = [...(await definitions()), ...(await definitions('--public'))]
    const taken = all.flatMap(({ spec }) => {
      const { kind, listKind, plural, singular, shortNames } = spec.names
      return [kind, listKind, ...new Set([plural, singular]), ...shortNames]
    })
    expect(new Set(taken).size).toBe(taken.length)
  })

  test.each(['nodots', 'Upper.example.com', '-a.example.com'])('reject the group %s', async group => {
    const { code, out, err } = await crds('--group', group)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(group)
  })
})

test('the output is deterministic', async () => {
  expect((await crds()).out).toBe((await crds()).out)
})

test('status is a subresource, and printer columns are defined', async () => {
  for (const { spec } of await definitions()) {
    const [version] = spec.versions
    expect(version.subresources).toEqual({ status: {} })
    expect(version.additionalPrinterColumns).toContainEqual(expect.objectContaining({ name: 'Age' }))
  }
})

describe('schemas are structural, as API servers require', () => {
  test('every field has a type or is declared open', async () => {
    const untyped = (await schemas()).filter(
      ([, schema]) =>
        schema.type === undefined &&
        schema['x-kubernetes-int-or-string'] !== true &&
        schema['x-kubernetes-preserve-unknown-fields'] !== true,
    )
    expect(untyped.map(([path]) => path)).toEqual([])
  })

  test('alternatives only check which fields are set', async () => {
    const counts = (value: unknown): boolean =>
      Array.isArray(value)
        ? value.every(counts)
        : Object.entries(value as object).every(([key, inner]) =>
            key === 'required' ? true : ['allOf', 'anyOf', 'oneOf', 'not'].includes(key) && counts(inner),
          )
    for (const [path, schema] of await schemas()) {
      for (const keyword of ['allOf', 'anyOf', 'oneOf', 'not']) {
        if (schema[keyword] !== undefined) expect([path, counts(schema[keyword])]).toEqual([path, true])
      }
    }
  })

  test('list map keys are set in every item', async () => {
    for (const [path, schema] of await schemas()) {
      for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
        const { required = [], properties } = schema.items
        expect([path, required.includes(key) || properties[key].default !== undefined]).toEqual([path, true])
      }
    }
  })

  test('patterns are valid RE2', async () => {
    for (const [path, { pattern }] of await schemas()) {
      if (pattern !== undefined) expect([path, pattern]).not.toEqual([path, expect.stringMatching(/\(\?[=!<]|\\[1-9]/)])
    }
  })

  test('validation rules are valid CEL', async () => {
    for (const [path, schema] of await schemas()) {
      for (const { rule, message } of schema['x-kubernetes-validations'] ?? []) {
        expect([path, message]).toEqual([path, expect.stringMatching(/^[^\n]+$/)])
        expect(() => parse(rule), `${path}: ${rule}`).not.toThrow()
      }
    }
  })

  test('the server defaults no field that would exclude what is set', async () => {
    const found = new Map(await schemas())
    expect(found.get('ProxyPolicy.spec.traffic.extAuth.failureMode')!).not.toHaveProperty('default')
    expect(found.get('ProxyPolicy.spec.traffic.phase')).toHaveProperty('default', 'PostRouting')
  })
})
