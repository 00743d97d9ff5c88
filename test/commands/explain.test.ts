import { describe, expect, test } from 'vitest'
import { VARIABLES } from '../../src/cel/variables.ts'
import { main } from '../../src/cli/main.ts'
import { KINDS } from '../../src/cluster/kinds/index.ts'
import { standalone } from '../../src/config/standalone/standalone.ts'
import { CODES } from '../../src/diagnostics/codes.ts'
import { memoryIo } from '../cli/memory-io.ts'

async function explain(...argv: string[]) {
  const io = memoryIo()
  const code = await main(['explain', ...argv], io, new URL('../../', import.meta.url))
  return { code, out: io.stdout.text, err: io.stderr.text }
}

describe('explain', () => {
  test('covers every code, section, kind and variable', async () => {
    const sections = Object.keys((standalone.node as { fields: object }).fields)
    const topics = [
      ...Object.keys(CODES),
      ...sections,
      ...KINDS.map(({ kind }) => kind),
      ...VARIABLES.map(({ name }) => `cel:${name}`),
    ]
    for (const topic of topics) {
      const { code, out } = await explain(topic)
      expect(code, topic).toBe(0)
      expect(out.length, topic).toBeGreaterThan(30)
    }
  })

  test('fits the width of the terminal', async () => {
    const io = memoryIo({ terminal: true })
    await main(['explain', 'llm.models'], io, new URL('../../', import.meta.url))
    const widths = io.stdout.text.split('\n').map(line => line.length)
    expect(Math.max(...widths)).toBeLessThanOrEqual(80)
    const wide = (await explain('llm.models')).out.split('\n').map(line => line.length)
    expect(Math.max(...wide)).toBeGreaterThan(80)
  })

  test('a code, in any case', async () => {
    expect((await explain('gw204')).out).toMatch(/^GW204: unknown reference \(error\)\n\n/)
  })

  test('a field, through lists, maps and short forms', async () => {
    const { out } = await explain('binds[0].listeners.routes[2].policies.jwtAuth.mode')
    expect(out).toMatch(/^binds\[\]\.listeners\[\]\.routes\[\]\.policies\.jwtAuth\.mode\n/)
    expect(out).toContain('strict')
    expect((await explain('ProxyPolicy.spec.traffic', '-o', 'json')).out).toContain(
      '"path": "ProxyPolicy.spec.traffic"',
    )
    expect((await explain('proxypolicy.spec')).out).toMatch(/^ProxyPolicy\.spec\n/)
    expect((await explain('AgentgatewayPolicy.spec')).code).toBe(0)
  })

  test('everything below a field', async () => {
    const { out } = await explain('llm.models', '--recursive')
    expect(out).toMatch(/^ {2}name <.*> required\n/m)
    expect(out).toMatch(/^ {2}provider <.*> required\n(?: {4}.*\n)*? {4}custom <a map>\n {6}model <text>\n/m)
    expect(out).toMatch(/^ {2}defaults <a map>\n {4}<name> <any value>\n/m)
    const { facts } = JSON.parse((await explain('llm.models', '--recursive', '--json')).out)
    const params = facts.fields.find(({ name }: { name: string }) => name === 'params')
    expect(params.fields.map(({ path }: { path: string }) => path)).toContain('llm.models[].params.model')
    expect((await explain('llm.models', '--json')).out).not.toContain('params.model')
  })

  test('terminates for every kind, even with recursive schemas', async () => {
    for (const topic of [...Object.keys((standalone.node as { fields: object }).fields), ...KINDS.map(k => k.kind)]) {
      expect((await explain(topic, '--recursive')).code, topic).toBe(0)
    }
  })

  test('Markdown', async () => {
    expect((await explain('GW204', '-o', 'md')).out).toMatch(/^# GW204: unknown reference\n\n\*error\* \w/)
    expect((await explain('cel:request', '-o', 'md')).out).toContain('| `method` | string | The method: `GET`. |\n')
    const field = (await explain('llm.models', '-o', 'md')).out
    expect(field).toMatch(/^# `llm\.models\[\]`\n\n[\s\S]*- \*\*required\*\*: yes\n[\s\S]*\| `name` \| /)
    const tree = (await explain('llm.models', '--recursive', '-o', 'md')).out
    expect(tree).toMatch(/^- `defaults` \(a map\)[^\n]*\n {2}- `<name>` \(any value\)/m)
  })

  test('a field of a variable', async () => {
    expect((await explain('cel:request.method')).out).toMatch(/^request\.method \(string\)\n/)
  })

  test.each([
    ['GW999', 'there is no code GW999'],
    ['bnids', 'there is no field bnids in the standalone configuration: did you mean `binds`?'],
    ['binds.prot', 'there is no field prot in binds: did you mean `port`?'],
    ['binds.port.x', 'there is no field x in binds[].port.'],
    ['ProxyPolcy', 'did you mean `ProxyPolicy`?'],
    ['cel:reqest', 'there is no variable reqest: did you mean `cel:request`?'],
    ['cel:request.methd', 'did you mean `cel:request.method`?'],
    ['constructor', 'there is no field constructor'],
    ['cel:request.constructor', 'there is no variable request.constructor'],
  ])('%s is a usage error, with the nearest name', async (topic, message) => {
    const { code, out, err } = await explain(topic)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })
})

describe('explain of a bare name', () => {
  test('finds the field at any depth and lists the others of that name', async () => {
    const { code, out } = await explain('cors')
    expect(code).toBe(0)
    expect(out).toMatch(/^policies\[\]\.policy\.cors\n/)
    expect(out).toContain('OTHER FIELDS OF THIS NAME\n')
    expect(out).toContain('  routes[].policies.cors\n')
    expect((await explain('adminaddr')).out).toMatch(/^config\.adminAddr\n/)
    expect((await explain('HTTPRoute.backendRefs')).out).toMatch(/^HTTPRoute\.spec\.rules\[\]\.backendRefs\[\]\n/)
  })

  test('suggests a name for a typo', async () => {
    const { code, err } = await explain('localRateLimt')
    expect(code).toBe(2)
    expect(err).toContain('did you mean `localRateLimit`?')
  })

  test('shows both forms of a field that can be a list or a map', async () => {
    const { out } = await explain('routes.policies.localRateLimit')
    expect(out).toMatch(
      /FIELDS OF A MAP\n[\s\S]* conditional [\s\S]*FIELDS OF EACH ITEM, AS A LIST\n[\s\S]* maxTokens /,
    )
    expect((await explain('routes.policies.localRateLimit.maxTokens')).code).toBe(0)
    expect((await explain('localRateLimit', '-o', 'md')).out).toContain('localRateLimit[]`')
  })
})

describe('schema', () => {
  async function schema(...argv: string[]) {
    const io = memoryIo()
    const code = await main(['schema', ...argv], io, new URL('../../', import.meta.url))
    return { code, out: io.stdout.text, err: io.stderr.text }
  }

  test('lists and prints the committed schemas', async () => {
    const { out } = await schema()
    expect(out).toMatch(/^standalone +gwctl configuration$/m)
    expect(out).toMatch(/^proxy-policy +ProxyPolicy$/m)
    for (const name of ['standalone', 'ProxyPolicy', 'proxy-policy', 'httproute', 'diagnostics-report']) {
      expect(JSON.parse((await schema(name)).out).$schema).toContain('json-schema.org')
    }
  })

  test('prints the modeline for editors', async () => {
    expect((await schema('standalone', '--modeline')).out).toMatch(
      /^# yaml-language-server: \$schema=file:\/\/\/.*standalone\.schema\.json\n$/,
    )
  })

  test.each(['standalon', '../package', 'ProxyPolcy'])('%s does not exist', async name => {
    const { code, err } = await schema(name)
    expect(code).toBe(2)
    expect(err).toContain(`there is no schema ${name}`)
  })
})
