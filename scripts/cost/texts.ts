import { checkTexts } from '../../src/tools/check/check-documents.ts'
import type { Place } from './place.ts'

const KB = 1024

/**
 * Files as `validate` reads them, in this process.
 *
 * long: one place a line
 */
export function textPlaces(): readonly Place[] {
  const file = (name: string, make: (text: string) => string, bound = 64 * KB): Place => ({
    name: `file: ${name}`,
    bound,
    counts: make('a'.repeat(160)) === make('b'.repeat(160)),
    cost: text =>
      spent(async () => {
        await checkTexts([{ file: 'a.yaml', text: make(text), lenient: false }], {
          cwd: '/tmp',
          env: {},
          tier: 'offline',
        })
      }),
  })
  const routes = (inner: string) => `binds:\n- port: 8080\n  listeners:\n  - routes:\n    - ${inner}\n`
  const policy = (inner: string) => routes(`policies: {${inner}}`)
  const quoted = (text: string) => JSON.stringify(text)
  const single = (text: string) => `'${text.replaceAll("'", "''").replace(/[^\t\x20-\x7e\u00a0-\ud7ff]/g, 'a')}'`
  const cel = (text: string) => policy(`authorization: {rules: [{allow: ${quoted(text)}}]}`)
  const resource = (spec: string) =>
    `apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: ${spec}\n`
  return [
    file('as a whole', text => text),
    file('a plain scalar', text => routes(`name: ${text}`)),
    file('a key', text => routes(`${text}: 1`)),
    file('a quoted scalar', text => routes(`name: ${quoted(text)}`)),
    file('a single-quoted scalar', text => routes(`name: ${single(text)}`)),
    file('a block scalar', text => routes(`name: |\n${text.replaceAll('\n', '\n        ').padStart(text.length + 8)}`)),
    file('a comment', text => `# ${text}\n${routes('name: a')}`),
    file('a comment that suppresses', text => routes(`name: a # gwctl-ignore ${text}`)),
    file('an anchor', text => routes(`name: &${text} a`)),
    file('aliases', text => `x: &a [1]\ny: [${'*a, '.repeat(text.length / 4)}1]\n`),
    file(
      'keys of one map',
      text => `x: {${Array.from({ length: text.length / 8 }, (_, i) => `a${i}${text[0]}: 1`).join(', ')}}\n`,
    ),
    file('items of one list', text => `x: [${'1, '.repeat(text.length / 3)}]\n`),
    file('sequences in sequences', text => `x: ${'['.repeat(text.length / 2)}${']'.repeat(text.length / 2)}`),
    file('maps in maps', text => `x: ${'{a: '.repeat(text.length / 8)}${'}'.repeat(text.length / 8)}`),
    file('documents', text => `${'---\n'.repeat(text.length / 8)}${routes('name: a')}`),
    file('a tag', text => routes(`name: !${text} a`)),
    file('a directive', text => `%${text}\n---\n${routes('name: a')}`),
    file('a variable', text => routes(`name: "$\{${text.replace(/["\\\n\r]/g, 'a')}}"`)),
    file('variables', text => routes(`name: "${'$A '.repeat(text.length / 3)}"`)),
    file('a host name', text => routes(`hostnames: [${quoted(text)}]`)),
    file('a path', text => routes(`matches: [{path: {pathPrefix: ${quoted(`/${text}`)}}}]`)),
    file('a pattern', text => routes(`matches: [{path: {regex: ${quoted(text)}}}]`)),
    file('a duration', text => policy(`timeout: {requestTimeout: ${quoted(text)}}`)),
    file('a size', text => policy(`buffer: {request: {maxBytes: ${quoted(text)}}}`)),
    file('an address', text => routes(`backends: [{host: ${quoted(text)}}]`)),
    file('a header name', text => policy(`requestHeaderModifier: {set: {${quoted(text)}: a}}`)),
    file('a header value', text => policy(`requestHeaderModifier: {set: {a: ${quoted(text)}}}`)),
    file('an origin', text => policy(`cors: {allowOrigins: [${quoted(text)}]}`)),
    file('passwords', text => policy(`basicAuth: {htpasswd: ${quoted(text)}}`)),
    file('a key set', text => policy(`jwtAuth: {issuer: a, jwks: ${quoted(text)}}`)),
    file('a log filter', text => `config: {logging: {level: ${quoted(text)}}}`),
    file('a field nobody knows', text => policy(`${quoted(text)}: 1`)),
    file('a resource', text => resource(`{parentRefs: [{name: ${quoted(text)}}]}`)),
    file('a resource of many rules', text => resource(`{rules: [${'{}, '.repeat(text.length / 4)}]}`)),
    file('many routes', text => routes(`{name: a}${'\n    - {name: a}'.repeat(text.length / 16)}`), 32 * KB),
    file('an expression', cel),
    file('an expression: a text', text => cel(`request.path == ${quoted(text)}`)),
    file('an expression: a pattern', text => cel(`request.path.matches(${quoted(text)})`)),
    file('an expression: brackets', text => cel(`${'('.repeat(text.length / 2)}1${')'.repeat(text.length / 2)}`)),
    file('an expression: a chain', text => cel(`request${'.a'.repeat(text.length / 2)}`)),
    file('an expression: a sum', text => cel(`1${'+1'.repeat(text.length / 2)} == 1`)),
    file('an expression: a conjunction', text => cel(`true${'&&true'.repeat(text.length / 6)}`)),
    file('an expression: a choice', text => cel(`true${'?true:true'.repeat(text.length / 10)}`)),
    file('an expression: a list', text => cel(`1 in [${'1,'.repeat(text.length / 2)}1]`)),
    file('an expression: negations', text => cel(`${'!'.repeat(text.length)}true`)),
  ]
}

async function spent(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) * 1000
}
