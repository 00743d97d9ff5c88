// npm run interop:translate: the public controller's own cases. Do our statuses agree with those it writes, and does our
// file mean what its runtime resources mean? `-- NAMEPART` for some of the cases, `--show` for what differs.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'
import { renderTranslation, translateTexts } from '../../src/tools/input/translate-resources.ts'
import { missingOf } from './meaning.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const CASES = process.env.TRANSLATE_CORPUS ?? join(root, '..', 'shared', 'corpus', 'translate')
const OPTIONS = { partial: false, withSecrets: true, allowUnguarded: false, filesDir: 'files' }
/** A suite of the public tests writes down the statuses of some kinds only, even where the controller sets others. */
const HELD = {
  backendpolicy: ['AgentgatewayPolicy'],
  trafficpolicy: ['AgentgatewayPolicy'],
  frontendpolicy: ['AgentgatewayPolicy'],
  references: ['AgentgatewayPolicy', 'HTTPRoute'],
  backends: ['AgentgatewayBackend', 'BackendTLSPolicy', 'InferencePool'],
  gateways: ['Gateway', 'ListenerSet'],
  models: ['AgentgatewayModel', 'Gateway'],
  routes: ['HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute', 'InferencePool'],
  delegation: ['HTTPRoute'],
}
const args = process.argv.slice(2)
const part = args.find(arg => !arg.startsWith('-')) ?? ''
const show = args.includes('--show')

async function main() {
  const rows = []
  for (const name of (await readdir(join(CASES, 'input'))).filter(each => each.includes(part)).sort()) {
    const read = async folder => readFile(join(CASES, folder, name), 'utf8')
    const [text, expected] = [await read('input'), parse(await read('expected')) ?? {}]
    const made = await translateTexts([{ file: name, text }], '/', OPTIONS)
    const family = name.split('-')[0]
    rows.push({ name, family, ...statuses(made, expected, family), ...meaning(made, expected) })
  }
  report(rows)
}

function statuses(made, { status = [] }, family) {
  const kinds = new Set([...HELD[family], ...status.map(({ kind }) => kind)])
  const own = parseAllDocuments(renderTranslation(made, 'status', false)).map(document => document.toJS())
  // A suite that holds no status of a kind does not say that there is none.
  const written = new Set(status.map(({ kind }) => kind))
  const have = linesOf(own.filter(each => kinds.has(each?.kind) && written.has(each.kind)))
  const want = linesOf(status)
  return {
    missing: [...want].filter(line => !have.has(line)),
    extra: [...have].filter(line => !want.has(line)),
  }
}

/** A status as lines: whose condition it is, type, status and reason. */
function linesOf(resources) {
  return new Set(
    resources
      .filter(each => each?.status)
      .flatMap(({ kind, metadata, status }) => {
        const who = `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
        const of = (owner, conditions = []) =>
          conditions.map(c => `${who} ${owner}: ${c.type}=${c.status} (${c.reason})`)
        const ref = to =>
          `${to?.kind ?? 'Gateway'} ${to?.namespace ?? ''}/${to?.name}${to?.sectionName ? `#${to.sectionName}` : ''}`
        return [
          ...of('', status.conditions),
          ...(status.parents ?? []).flatMap(each => of(ref(each.parentRef), each.conditions)),
          ...(status.ancestors ?? []).flatMap(each => of(ref(each.ancestorRef), each.conditions)),
          ...(status.listeners ?? []).flatMap(each => [
            ...of(`listener ${each.name}`, each.conditions),
            `${who} listener ${each.name}: ${each.attachedRoutes} routes`,
          ]),
        ]
      }),
  )
}

/** What the runtime resources say and the file does not: told, where a finding or a loss speaks of their resource. */
function meaning(made, { output = [] }) {
  const { value, work } = made.finished
  // What the file refers to belongs to what it says.
  const files = [...work.files.values()].map(({ bytes }) => bytes.toString())
  const file = { ...value, files }
  const told = made.report.diagnostics.map(({ resource, message }) => `${resource ?? ''} ${message}`)
  const differ = output.flatMap(({ resource, gateway }) =>
    resource ? missingOf(resource, file).map(each => ({ ...each, gateway })) : [],
  )
  // What is said of a Gateway that the file leaves out is said of all that only it serves.
  const isTold = ({ name, gateway, what }) =>
    told.some(
      line =>
        line.includes(name) ||
        line.startsWith(`Gateway ${gateway.Namespace}/${gateway.Name} listener`) ||
        line.startsWith(`Gateway ${gateway.Namespace}/${gateway.Name} port`) ||
        (what.startsWith('bind') && line.includes('opens no port')),
    )
  return {
    resources: output.filter(({ resource }) => resource).length,
    told: differ.filter(each => told.length > 0 && isTold(each)),
    silent: differ.filter(each => told.length === 0 || !isTold(each)),
  }
}

function report(rows) {
  const out = line => process.stdout.write(`${line}\n`)
  const wrong = rows.filter(({ missing, extra }) => missing.length + extra.length > 0)
  out(`statuses: ${rows.length - wrong.length} of ${rows.length} cases agree in the kinds that their suite holds`)
  for (const { name, missing, extra } of wrong) {
    out(`  ${name}`)
    if (show)
      for (const line of [...missing.map(l => `missing ${l}`), ...extra.map(l => `extra ${l}`)]) out(`    ${line}`)
  }
  for (const [family, own] of Map.groupBy(rows, ({ family }) => family)) {
    const sum = key => own.reduce((total, row) => total + (row[key].length ?? row[key]), 0)
    const quiet = own.filter(({ silent }) => silent.length > 0)
    out(
      `${family}: ${own.length} cases, ${sum('resources')} runtime resources; ${sum('told')} parts are not in the file and told, ${sum('silent')} silently`,
    )
    if (show) for (const { name, told } of own) for (const each of told) out(`  told ${name}: ${each.what}`)
    for (const { name, silent } of quiet) for (const each of silent) out(`  ${name}: ${each.what}`)
  }
  if (rows.some(({ silent }) => silent.length > 0)) process.exitCode = 1
}

await main()
