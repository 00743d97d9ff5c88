// npm run interop: does a real API server accept our CustomResourceDefinitions, and does it judge every resource as
// `gwctl validate` does? Does `gwctl translate --from-cluster` make the same of what it holds as of the files? With `-- --record` the counts go into docs/interop.md. Needs Go once, to build the server.
import { glob, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { printYaml } from '../../src/diagnostics/print-yaml.ts'
import { startApiServer } from './api-server.mjs'
import { GATEWAY_API, installDefinitions } from './cluster/definitions.mjs'
import { compareTranslations } from './from-cluster.mjs'
import { record } from './record.mjs'
import { createJudge } from './verdict.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const shared = join(root, '..', 'shared')
const HARNESS = process.env.KUBE_HARNESS ?? join(shared, 'harness', 'kube')
const BIN = process.env.KUBE_BIN ?? join(tmpdir(), 'gwctl-kube-bin')
const CORPUS = process.env.KUBE_CORPUS ?? join(shared, 'corpus', 'cluster')

async function main() {
  const server = await startApiServer(HARNESS, BIN)
  try {
    const definitions = await installDefinitions(server)
    const translations = await compareTranslations(await filesOf(join(root, 'fixtures/translate')), server)
    const judge = createJudge(server)
    const sets = []
    sets.push(await compare('fixtures/k8s', await filesOf(join(root, 'fixtures/k8s')), judge))
    sets.push(await compare('documentation of the public system', await filesOf(CORPUS), judge))
    sets.push(await compare('tables of the specification’s rules', await tableCases(), judge))
    sets.push(await compare('single mistakes in fixtures/k8s', await mistakes(), judge))
    sets.push(await compare('single changes of small resources', await changes(), judge))
    const result = { kubernetes: server.version, gatewayApi: GATEWAY_API, definitions, sets, translations }
    report(result)
    if (process.argv.includes('--record')) await record(join(root, 'docs/interop.md'), result)
    const all = [...sets, translations]
    if (definitions.some(({ problem }) => problem) || all.some(({ differ }) => differ.length > 0)) process.exitCode = 1
  } finally {
    await server.stop()
  }
}

async function filesOf(directory) {
  const files = []
  for await (const file of glob('**/*.yaml', { cwd: directory })) files.push(file)
  return Promise.all(
    files.sort().map(async file => ({ name: file, text: await readFile(join(directory, file), 'utf8') })),
  )
}

/** Each value at a limit of the specification, and each just past it, in a small resource. */
async function tableCases() {
  const { BASES, withValue } = await import('../../test/cluster/kinds/bases.ts')
  const { CHOICES, LIMITS, REQUIRED } = await import('../../test/cluster/kinds/spec-table.ts')
  const rows = [
    ...Object.keys(BASES).map(base => [base, '', undefined, 'as it is']),
    ...LIMITS.flatMap(([base, path, rule, ok, bad]) => [
      [base, path, ok, `${rule}, kept`],
      [base, path, bad, `${rule}, broken`],
    ]),
    ...REQUIRED.map(([base, path]) => [base, path, undefined, 'removed']),
    ...CHOICES.map(([base, path, rule, value]) => [base, path, value, rule]),
  ]
  // The server takes a status from its own endpoint only, and drops it here.
  return rows
    .filter(([, path]) => !path.startsWith('status'))
    .map(([base, path, value, what]) => ({
      name: `${base} ${path}: ${what}`,
      text: printYaml(path === '' ? BASES[base] : withValue(BASES[base], path, value)),
    }))
}

/** Every value of small resources in turn replaced by values of every type, removed, renamed. */
async function changes() {
  const { BASES } = await import('../../test/cluster/kinds/bases.ts')
  const { mutations } = await import('../../test/schema/mutations.ts')
  return Object.entries(BASES).flatMap(([base, { spec, ...rest }]) =>
    [...mutations(spec)].map(({ what, document }) => ({
      name: `${base} ${what}`,
      text: printYaml({ ...rest, spec: document }),
    })),
  )
}

/** One document each: of a file with a mistake, the one that it is in. */
async function mistakes() {
  const { mistakesInResources } = await import('../../test/cluster/kinds/resource-mistakes.ts')
  return mistakesInResources(20_260_821).map(({ what, text, lines }) => {
    const before = text.split('\n').slice(0, lines[1])
    const start = before.lastIndexOf('---') + 1
    const [document] = text.split('\n').slice(start).join('\n').split(/^---$/m)
    return { name: what, text: document }
  })
}

async function compare(name, cases, judge) {
  const set = { name, files: cases.length, resources: 0, unknown: 0, same: 0, refused: 0, beyond: 0, differ: [] }
  for (const each of cases) {
    for (const verdict of await judge(each)) {
      if (verdict.server === undefined) {
        set.unknown++
        continue
      }
      set.resources++
      if (verdict.server.accepted !== verdict.own.accepted) set.differ.push({ ...verdict, name: each.name })
      else set.same++
      if (!verdict.server.accepted && !verdict.own.accepted) set.refused++
      if (verdict.server.accepted && verdict.own.beyond > 0) set.beyond++
    }
  }
  return set
}

function report({ kubernetes, gatewayApi, definitions, sets, translations }) {
  const out = line => process.stdout.write(`${line}\n`)
  out(`Kubernetes ${kubernetes}, Gateway API ${gatewayApi} (experimental channel)`)
  for (const { name, problem } of definitions)
    out(`${problem ? 'REFUSED' : 'established'}  ${name}${problem ? `\n  ${problem}` : ''}`)
  const { files, same: alike, differ: others } = translations
  out(`translate --from-cluster: ${alike} of ${files} cases to the byte as translate -f`)
  for (const { name } of others) out(`  ${name}`)
  for (const { name, resources, same, refused, beyond, unknown, differ } of sets) {
    out(
      `${name}: ${same} of ${resources} verdicts agree, ${refused} on a refusal; ${beyond} accepted with findings beyond the server; ${unknown} of kinds that it does not know`,
    )
    for (const { name: where, label, server, own } of differ) {
      out(
        `  ${where} ${label}\n    server: ${server.accepted ? 'accepted' : server.message}\n    gwctl: ${own.accepted ? 'accepted' : own.messages.join('; ')}`,
      )
    }
  }
}

await main()
