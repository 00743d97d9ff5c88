// Whether `translate --from-cluster` makes the same file of resources that a real API server holds as `translate -f`
// makes of the files that they were applied from.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { renderTranslation, translateTexts } from '../../src/tools/input/translate-resources.ts'
import { readCluster } from '../../src/tools/kube-api/read-cluster.ts'

const OPTIONS = { partial: false, withSecrets: true, allowUnguarded: false, filesDir: 'files' }

/** `cases`: each a name and the text of its resources; applied one after another, each to an empty cluster. */
export async function compareTranslations(cases, { call, kubeconfig }) {
  const types = typeLookup(call)
  const folder = await mkdtemp(join(tmpdir(), 'gwctl-kubeconfig-'))
  const file = join(folder, 'config')
  await writeFile(file, kubeconfig, { mode: 0o600 })
  const set = { name: 'translation of what the server holds', files: 0, same: 0, refused: 0, messages: [], differ: [] }
  for (const { name, text: written } of cases) {
    // The server takes no endpoints on loopback, where those of the fixtures are.
    const text = written.replaceAll(/\b127\.0\.0\.(\d)\b/g, '10.77.0.$1')
    const applied = []
    for (const document of parseAllDocuments(text)) {
      const value = document.toJS()
      if (!value?.kind) continue
      const path = await pathOf(value, types, call)
      const answer = path && (await call('PATCH', `${path}?fieldManager=interop&force=true`, JSON.stringify(value)))
      if (answer?.status === 200 || answer?.status === 201) applied.push({ path, value })
      else {
        set.refused++
        set.messages.push(`${name}: ${answer?.body.message}`)
      }
    }
    set.files++
    const place = { cwd: folder, env: {}, stdin: process.stdin }
    const request = { kubeconfig: file, allNamespaces: true }
    const held = await readCluster(request, place, { note: () => {}, progress: () => {} })
    const [cluster, files] = await Promise.all([translated(held), translated([{ file: 'case.yaml', text }])])
    if (cluster === files) set.same++
    else set.differ.push({ name, cluster, files })
    for (const { path, value } of applied.reverse()) await remove(path, value, call)
  }
  await rm(folder, { recursive: true })
  return set
}

/** The server's clock decides when its resources were made, so here all are of one age. */
async function translated(texts) {
  const ageless = texts.map(({ file, text }) => ({
    file,
    text: text.replaceAll(/creationTimestamp: *[^,}\n]+/g, 'selfLink: none'),
  }))
  const made = await translateTexts(ageless, '/', OPTIONS)
  return renderTranslation(made, 'yaml', false)
}

/** Without controllers a namespace never goes away: it is emptied of its labels. */
async function remove(path, { kind, apiVersion, metadata }, call) {
  if (kind !== 'Namespace') return call('DELETE', path)
  const bare = JSON.stringify({ apiVersion, kind, metadata: { name: metadata.name } })
  return call('PATCH', `${path}?fieldManager=interop&force=true`, bare)
}

async function pathOf(value, types, call) {
  const type = await types(value)
  if (!type) return undefined
  if (!type.namespaced) return `${type.path}/${type.plural}/${value.metadata.name}`
  const namespace = value.metadata.namespace ?? 'default'
  await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  return `${type.path}/namespaces/${namespace}/${type.plural}/${value.metadata.name}`
}

function typeLookup(call) {
  const known = new Map()
  return async ({ apiVersion, kind }) => {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    if (!known.has(path)) known.set(path, (await call('GET', path)).body.resources ?? [])
    const found = known.get(path).find(each => each.kind === kind && !each.name.includes('/'))
    return found && { path, plural: found.name, namespaced: found.namespaced }
  }
}
