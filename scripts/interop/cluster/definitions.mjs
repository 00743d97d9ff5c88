// The CustomResourceDefinitions that an API server needs to hold what gwctl reads: ours and those of the Gateway API.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { renderCrds } from '../../../src/tools/crds.ts'
import { moduleDirectory } from '../api-server.mjs'

export const GATEWAY_API = 'v1.7.0'

/** Ours under three sets of names, and the published ones of the Gateway API; resolves when all are established. */
export async function installDefinitions({ call }) {
  const own = [{ public: false }, { public: true }, { public: false, group: 'example.com' }]
  const found = []
  for (const text of own.flatMap(options => renderCrds(options).split(/^---\n/m))) {
    const { name } = parse(text).metadata
    found.push({ name, problem: await apply(call, name, text) })
  }
  const directory = join(await moduleDirectory('sigs.k8s.io/gateway-api', GATEWAY_API), 'config/crd/experimental')
  for (const file of (await readdir(directory)).filter(name => /^gateway\.networking\.k8s\.io_.*s\.yaml$/.test(name))) {
    for (const document of parseAllDocuments(await readFile(join(directory, file), 'utf8'))) {
      if (document.toJS()?.kind !== 'CustomResourceDefinition') continue
      const definition = document.toJS()
      const problem = await apply(call, definition.metadata.name, JSON.stringify(definition))
      if (problem) throw new Error(`${file}: ${problem}`)
    }
  }
  return found
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** As `kubectl apply --server-side` does it. */
async function apply(call, name, text) {
  const { status, body } = await call('PATCH', `${CRDS}/${name}?fieldManager=interop&force=true`, text)
  if (status !== 201 && status !== 200) return body.message
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    const { body: now } = await call('GET', `${CRDS}/${name}`)
    const conditions = now.status?.conditions ?? []
    const broken = conditions.find(
      ({ type, status }) => type === 'NonStructuralSchema' || (type === 'NamesAccepted' && status === 'False'),
    )
    if (broken) return `${broken.type}: ${broken.message}`
    if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return undefined
  }
  return 'not established within 30 s'
}
