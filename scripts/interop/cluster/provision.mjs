// npm run interop:provision: does a real API server take what `gwctl provision` writes, strictly, and does a second
// server-side apply change nothing? Does `gwctl provision --kube` then find nothing to change, and what was changed by
// hand? With `-- --record` the counts go into docs/interop.md. Needs Go once, to build the server.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { objectName } from '../../../src/tools/provision/differences.ts'
import { startApiServer } from '../api-server.mjs'
import { replaceSection } from '../section.mjs'
import { installDefinitions } from './definitions.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const HARNESS = process.env.KUBE_HARNESS ?? join(root, '..', 'shared', 'harness', 'kube')
const BIN = process.env.KUBE_BIN ?? join(tmpdir(), 'gwctl-kube-bin')
const FIXTURES = join(root, 'fixtures', 'provision')

async function main() {
  const server = await startApiServer(HARNESS, BIN)
  const folder = await mkdtemp(join(tmpdir(), 'gwctl-provision-'))
  try {
    const kubeconfig = join(folder, 'kubeconfig')
    await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 })
    await installDefinitions(server)
    const rows = []
    for (const name of (await readdir(FIXTURES)).filter(file => file.endsWith('.yaml'))) {
      rows.push(await tried(name, server, kubeconfig))
    }
    for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`)
    const right = rows.every(({ problems }) => problems.length === 0)
    if (right && process.argv.includes('--record')) await record(rows, server.version)
    if (!right) process.exitCode = 1
  } finally {
    await server.stop()
    await rm(folder, { recursive: true })
  }
}

async function tried(name, { call }, kubeconfig) {
  const file = join(FIXTURES, name)
  const problems = []
  for (const input of documentsIn(await readFile(file, 'utf8'))) {
    for (const namespace of [input.metadata.namespace].filter(Boolean)) {
      await apply(call, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    }
    const { status, body } = await apply(call, input)
    if (status >= 300) problems.push(`input ${input.kind}: ${body.message}`)
  }
  const made = await gwctl(['provision', '-f', file])
  if (made.code !== 0) problems.push(made.err)
  const objects = documentsIn(made.out)
  const first = await applyAll(call, objects, problems)
  const second = await applyAll(call, objects, problems)
  for (const [i, object] of objects.entries()) {
    if (first[i] !== second[i]) problems.push(`${object.kind} ${object.metadata.name} changed with the second apply`)
  }
  const again = await gwctl(['provision', '-f', file])
  if (again.out !== made.out) problems.push('a second run says something else')
  const gateway = documentsIn(await readFile(file, 'utf8')).find(({ kind }) => kind === 'Gateway')
  await triedLive(call, gateway, objects, { kubeconfig, problems })
  return { name, kinds: objects.map(({ kind }) => kind), applied: first.filter(Boolean).length, problems }
}

/** From the cluster itself: owners and a key come to what the files gave; after that there is nothing to change. */
async function triedLive(call, { metadata }, objects, { kubeconfig, problems }) {
  const live = ['--kube', `${metadata.namespace}/${metadata.name}`, '-A', '--kubeconfig', kubeconfig]
  const made = await gwctl(['provision', ...live])
  if (made.code !== 0) problems.push(made.err)
  const before = await applyAll(call, documentsIn(made.out), problems)
  const same = await gwctl(['provision', ...live, '-o', 'diff'])
  if (same.code !== 0) problems.push(`-o diff finds changes where there are none: ${same.out}${same.err}`)
  const after = await applyAll(call, documentsIn((await gwctl(['provision', ...live])).out), problems)
  if (before.join() !== after.join()) problems.push('provision --kube, applied twice, changed something')
  const service = objects.find(({ kind }) => kind === 'Service')
  const port = { ...service.spec.ports[0], targetPort: 1 }
  await apply(call, { ...service, spec: { ...service.spec, ports: [port] } }, 'by-hand')
  const told = await gwctl(['provision', ...live, '-o', 'diff'])
  if (told.code !== 1 || !told.out.includes('targetPort'))
    problems.push(`-o diff misses a changed port: ${told.out}${told.err}`)
}

/** The resource versions in the order of the objects; undefined where the server refuses one. */
async function applyAll(call, objects, problems) {
  const versions = []
  for (const object of objects) {
    const { status, body } = await apply(call, object)
    if (status >= 300) problems.push(`${object.kind} ${object.metadata.name}: ${body.message}`)
    versions.push(status >= 300 ? undefined : body.metadata.resourceVersion)
  }
  return versions
}

function apply(call, object, manager = 'interop') {
  const { apiVersion, plural, namespace, name } = objectName(object)
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const within = namespace === undefined ? '' : `/namespaces/${namespace}`
  const query = `fieldManager=${manager}&force=true&fieldValidation=Strict`
  return call('PATCH', `${base}${within}/${plural}/${encodeURIComponent(name)}?${query}`, JSON.stringify(object))
}

function documentsIn(text) {
  return parseAllDocuments(text).flatMap(document => document.toJS() ?? [])
}

function gwctl(args) {
  return new Promise(done => {
    execFile(process.execPath, [join(root, 'bin/run.js'), ...args, '--no-color'], { cwd: root }, (error, out, err) =>
      done({ code: error?.code ?? 0, out, err }),
    )
  })
}

async function record(rows, version) {
  const lines = rows.map(({ name, kinds, applied }) => `| ${name} | ${kinds.join(', ')} | ${applied} |`)
  const text = `## Provisioned objects

\`gwctl provision\` of the files in \`fixtures/provision\`, applied to kube-apiserver ${version} by a server-side apply with \`fieldValidation=Strict\`: every object is accepted, and the same apply once more leaves every \`resourceVersion\` as it was. The same holds of \`gwctl provision --kube\`, which reads the resources from that server; \`-o diff\` then finds nothing, and finds a port that was changed by hand.

| File | Objects | Accepted |
|---|---|---|
${lines.join('\n')}
`
  await replaceSection(join(root, 'docs/interop.md'), 'provision', 'npm run interop:provision -- --record', text)
}

await main()
