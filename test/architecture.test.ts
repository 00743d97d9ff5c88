import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { buildOptions } from '../scripts/build.mjs'
import { frontendPolicies, trafficPolicies } from '../src/policies/index.ts'
import { checkCycles, checkLayers } from './architecture/layers.ts'
import { checkLiterals, policyNames, WIRE_FIELDS } from './architecture/literals.ts'
import { checkLoads, NOT_AT_ONCE } from './architecture/loads.ts'
import { checkOnePlace } from './architecture/one-place.ts'
import { checkFileAccess, checkOwners } from './architecture/owners.ts'
import { parseSource, readSources, type SourceFile } from './architecture/source-files.ts'
import { checkExports, checkHabits, checkNames, checkSizes, checkTests } from './architecture/style.ts'
import { show, type Violation } from './architecture/violation.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const product = readSources(root, ['src', 'commands'])
const scripts = readSources(root, ['scripts'])
const tests = readSources(root, ['test'])

const policies = policyNames([...trafficPolicies, ...frontendPolicies].map(({ name }) => name))

const CHECKS: Readonly<Record<string, () => Violation[]>> = {
  'imports go down only': () => checkLayers(product),
  'no module loads itself through others': () => checkCycles([...product, ...scripts]),
  'a package is imported by its owner only': () => checkOwners(product),
  'calls, exchanges and kinds have one place each': () => checkOnePlace(product),
  'files are opened in one place': () => checkFileAccess(product),
  'a policy is named in its own folder only': () => checkLiterals(product, policies),
  'a field of a wire format is known to its codec only': () => checkLiterals(product, WIRE_FIELDS),
  'names are kebab-case and say something': () => checkNames([...product, ...scripts, ...tests]),
  'files and functions are short, or say why not': () => checkSizes([...product, ...scripts]),
  'no any, no hidden state, no default exports': () => checkHabits(product),
  'what is exported is used': () =>
    checkExports(product, [...scripts, ...tests, ...readSources(root, ['bin', 'bench'])]),
  'every test runs': () => checkTests(tests),
}

describe('the source tree follows its architecture rules', () => {
  test.each(Object.keys(CHECKS))('%s', name => {
    expect(show(CHECKS[name]!())).toEqual([])
  })

  test.runIf(existsSync(`${root}commands/validate.ts`))(
    'validate loads no engine, HTTP client or terminal UI',
    async () => {
      const { metafile } = await build({ ...buildOptions(), write: false })
      expect(metafile.inputs).toHaveProperty(['commands/validate.ts'])
      expect(show(checkLoads(metafile.inputs, 'commands/validate.ts'))).toEqual([])
      expect(show(checkLoads(metafile.inputs, 'src/config/load.ts', NOT_AT_ONCE, 'at once'))).toEqual([])
    },
  )
})

/** A check that cannot fail proves nothing: each gets a tree with one mistake and has to name it. */
describe('each architecture check can fail', () => {
  const file = (path: string, text: string): SourceFile => parseSource(path, `${text}\n`)
  const lines = (count: number) => Array.from({ length: count }, (_, i) => `  f(${i})`).join('\n')
  const importing = (path: string, specifier: string) => [file(path, `import { x } from '${specifier}'`)]

  test.each<[string, Violation[], string]>([
    ['an upward import', checkLayers(importing('src/cel/a.ts', '../config/b.ts')), 'a layer above'],
    [
      'an upward type-only import',
      checkLayers([file('src/http/a.ts', `import type { T } from '../engine/b.ts'`)]),
      'a layer above',
    ],
    [
      'an upward import() type',
      checkLayers([file('src/http/a.ts', `export type T = import('../engine/b.ts').T`)]),
      'a layer above',
    ],
    [
      'an upward export-from',
      checkLayers([file('src/schema/a.ts', `export { x } from '../tools/b.ts'`)]),
      'a layer above',
    ],
    [
      'an upward lazy import',
      checkLayers([file('src/tools/a.ts', `export const f = () => import('../cli/b.ts')`)]),
      'a layer above',
    ],
    ['a policy that imports another', checkLayers(importing('src/policies/cors.ts', './csrf.ts')), 'meet in index.ts'],
    [
      'a policy that imports a backend',
      checkLayers(importing('src/policies/jwt-auth/keys.ts', '../../backends/ai/index.ts')),
      'meet in index.ts',
    ],
    [
      'an engine module that imports resource kinds',
      checkLayers(importing('src/engine/a.ts', '../cluster/kinds/index.ts')),
      'know nothing of each other',
    ],
    [
      'a translation that imports the engine',
      checkLayers(importing('src/cluster/translate/a.ts', '../../engine/gateway.ts')),
      'know nothing of each other',
    ],
    [
      'a command folder that imports another',
      checkLayers(importing('src/tools/route/a.ts', '../trace/screen.ts')),
      'the room of one command',
    ],
    [
      'a shared folder that imports a command folder',
      checkLayers(importing('src/tools/events/a.ts', '../health.ts')),
      'the room of one command',
    ],
    ['a folder in no layer', checkLayers([file('src/stuff/a.ts', '')]), 'no layer'],
    [
      'a cycle',
      checkCycles([
        file('src/cel/a.ts', `import './b.ts'`),
        file('src/cel/b.ts', `export * from './c.ts'`),
        file('src/cel/c.ts', `export const f = () => import('./a.ts')`),
      ]),
      'src/cel/a.ts → src/cel/b.ts → src/cel/c.ts → src/cel/a.ts',
    ],
    [
      'a package imported outside its owner',
      checkOwners(importing('src/engine/a.ts', 'ajv/dist/2020.js')),
      'belongs to',
    ],
    [
      'a package without an owner',
      checkOwners(importing('src/engine/a.ts', '@scope/new/part')),
      '@scope/new has no owner',
    ],
    [
      'a call that bypasses the dispatcher',
      checkOnePlace([file('src/backends/a.ts', 'ctx.runtime.transport.dispatch(to, request, on)')]),
      'past the dispatcher',
    ],
    [
      'an exchange created by a policy',
      checkOnePlace([file('src/policies/a.ts', 'const x = new Exchange({})')]),
      'an Exchange of its own',
    ],
    [
      'a decision based on a message text',
      checkOnePlace([file('src/engine/a.ts', `if (reply.error === 'no valid backends') f()`)]),
      'failures have codes',
    ],
    [
      'a decision based on a message prefix',
      checkOnePlace([file('src/cluster/a.ts', `const b = errors.filter(error => error.startsWith('jwks'))`)]),
      'failures have codes',
    ],
    [
      'a decision based on a message pattern',
      checkOnePlace([file('src/engine/a.ts', 'if (/no valid/.test(error.message)) f()')]),
      'failures have codes',
    ],
    [
      'a lazy import awaited by a policy',
      checkOnePlace([file('src/policies/a.ts', `async function f() { await import('./b.ts') }`)]),
      '`ctx.serving` does',
    ],
    [
      'a lazy import cached by a backend',
      checkOnePlace([file('src/backends/a.ts', `const load = once(() => import('./b.ts'))`)]),
      '`ctx.serving` does',
    ],
    [
      'a kind parsed from an identity',
      checkOnePlace([file('src/config/a.ts', `const b = level.identity.startsWith('backend:')`)]),
      'a field of its own',
    ],
    [
      'a mutable module-level Map',
      checkHabits([file('src/llm/a.ts', 'const seen = new Map<string, number>()')]),
      'that changes',
    ],
    ['an unused export', checkExports([file('src/llm/a.ts', 'export function f() {}')], []), 'nothing else uses `f`'],
    ['a socket in a policy', checkOwners(importing('src/policies/a.ts', 'node:http')), 'belongs to'],
    ['a file read outside its owners', checkOwners(importing('src/llm/a.ts', 'node:fs/promises')), 'belongs to'],
    ['a socket in the dry run', checkOwners(importing('src/tools/dry-run/a.ts', 'node:net')), 'belongs to'],
    ['a child process in a command', checkOwners(importing('src/tools/dump/a.ts', 'node:child_process')), 'belongs to'],
    ['a worker thread in a policy', checkOwners(importing('src/policies/a.ts', 'node:worker_threads')), 'belongs to'],
    ['fetch in a policy', checkOwners([file('src/policies/a.ts', `await fetch('http://x')`)]), 'the way out'],
    [
      'a file read that bypasses its owner',
      checkFileAccess([file('src/tools/a.ts', `import { readFileSync, statSync } from 'node:fs'`)]),
      'readFileSync: files are opened in src/files',
    ],
    ['an import of all of fs', checkFileAccess([file('src/tools/a.ts', `import fs from 'node:fs'`)]), 'all of fs'],
    ['the oclif barrel', checkOwners(importing('src/cli/a.ts', '@oclif/core')), 'loads everything'],
    [
      'a policy name compared elsewhere',
      checkLiterals([file('src/tools/a.ts', `if (name === 'csrf') f()`)], policies),
      '`csrf` names a policy',
    ],
    [
      'a policy name in a list elsewhere',
      checkLiterals([file('src/cluster/translate/a.ts', `const GUARDS = ['jwtAuth']`)], policies),
      '`jwtAuth` names a policy',
    ],
    [
      'a wire field set outside its codec',
      checkLiterals([file('src/backends/ai/a.ts', `body.set('stop_reason', 1)`)], WIRE_FIELDS),
      '`stop_reason` is a field of one wire format',
    ],
    [
      'a wire field read outside its codec',
      checkLiterals([file('src/backends/ai/a.ts', `f(usage.prompt_tokens)`)], WIRE_FIELDS),
      '`prompt_tokens` is a field of one wire format',
    ],
    ['a name that is not kebab-case', checkNames([file('src/cel/headerView.ts', '')]), 'not kebab-case'],
    ['a meaningless name', checkNames([file('src/cel/utils/a.ts', '')]), 'says nothing'],
    [
      'a folder with too many entries',
      checkNames(Array.from({ length: 31 }, (_, i) => file(`src/cel/f${i}.ts`, ''))),
      '31 entries',
    ],
    ['a long file', checkSizes([file('src/cel/a.ts', lines(401))]), '401 lines'],
    ['a long command', checkSizes([file('commands/a.ts', lines(81))]), '81 lines'],
    [
      'a long function',
      checkSizes([file('src/cel/a.ts', `function g() {\n${lines(60)}\n}`)]),
      'a function of 62 lines',
    ],
    [
      'a long arrow function',
      checkSizes([file('src/cel/a.ts', `const g = () => {\n${lines(60)}\n}`)]),
      'a function of 62 lines',
    ],
    [
      'a long method',
      checkSizes([file('src/cel/a.ts', `class A { g() {\n${lines(60)}\n} }`)]),
      'a function of 62 lines',
    ],
    ['any', checkHabits([file('src/cel/a.ts', 'export const f = (x: any) => x')]), 'any'],
    [
      'any with a reason for another rule',
      checkHabits([file('src/cel/a.ts', '// biome-ignore lint/style/x: a reason\nexport const f = (x: any) => x')]),
      'any',
    ],
    ['a default export', checkHabits([file('src/cel/a.ts', 'export default 1')]), 'default export'],
    ['module-level let', checkHabits([file('src/cel/a.ts', 'let count = 0')]), 'module-level let'],
    ['exported let', checkHabits([file('src/cel/a.ts', 'export let count = 0')]), 'module-level let'],
    ['a suppressed type error', checkHabits([file('src/cel/a.ts', '// @ts-ignore\nf()')]), '@ts-ignore'],
    [
      'a lint suppression without a reason',
      checkHabits([file('src/cel/a.ts', '// biome-ignore lint/a/b\nf()')]),
      'without a reason',
    ],
    ['unfinished work', checkHabits([file('src/cel/a.ts', `/* ${'TO'}DO */`)]), `${'TO'}DO`],
    ['console', checkHabits([file('src/cel/a.ts', `console.log('x')`)]), 'streams of Io'],
    ['process.exit', checkHabits([file('src/tools/a.ts', 'process.exit(1)')]), 'only src/cli/main.ts'],
    ['a focused test', checkTests([file('test/a.test.ts', `test.only('x', () => {})`)]), 'test.only'],
    [
      'an engine behind a lazy import',
      checkLoads(
        {
          'commands/validate.ts': { bytes: 1, imports: [{ path: 'src/tools/check/check.ts', kind: 'dynamic-import' }] },
          'src/tools/check/check.ts': {
            bytes: 1,
            imports: [{ path: 'src/engine/gateway.ts', kind: 'import-statement' }],
          },
        },
        'commands/validate.ts',
      ),
      'src/tools/check/check.ts → src/engine/gateway.ts',
    ],
    [
      'node:http loaded by validate',
      checkLoads(
        {
          'commands/validate.ts': {
            bytes: 1,
            imports: [{ path: 'node:http', kind: 'import-statement', external: true }],
          },
        },
        'commands/validate.ts',
      ),
      'node:http',
    ],
  ])('%s', (_mistake, violations, message) => {
    expect(show(violations)).toHaveLength(1)
    expect(show(violations)[0]).toContain(message)
  })

  test('a stated reason lifts the size limits', () => {
    expect(checkSizes([file('src/cel/a.ts', `// long: one table\n${lines(401)}`)])).toEqual([])
    expect(
      checkSizes([file('src/cel/a.ts', `/**\n * long: one switch\n */\nfunction g() {\n${lines(60)}\n}`)]),
    ).toEqual([])
    expect(checkSizes([file('src/cel/a.ts', `// long:\n${lines(401)}`)])).toHaveLength(1)
  })

  test('allowed code passes', () => {
    const good = [
      file('commands/run.ts', `import { serve } from '../src/tools/serve.ts'\nexport default class Run {}`),
      file('src/tools/serve.ts', `import type { T } from '../cel/a.ts'\nimport { check } from './check.ts'`),
      file('src/policies/index.ts', `import { cors } from './cors.ts'\nimport { ai } from '../backends/ai/index.ts'`),
      file('src/policies/cors.ts', `import { definePolicy } from './policy.ts'`),
      file('src/policies/jwt/index.ts', `import { keys } from './keys.ts'`),
      file('src/cel/a.ts', `import type { B } from './b.ts'`),
      file('src/cel/b.ts', `import { type A } from './a.ts'`),
      file('src/cel/ip-address.ts', `import { isIP } from 'node:net'`),
    ]
    const all = [checkLayers(good), checkCycles(good), checkOwners(good), checkNames(good), checkHabits(good)]
    expect(all.flatMap(show)).toEqual([])
  })
})
