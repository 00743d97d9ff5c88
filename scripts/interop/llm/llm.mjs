// npm run interop:llm [-- --record] [NAME...]: clients as their authors publish them, each through the gateway with the
// models of every provider. All get the same answers, and every request that reaches a provider has the shape that the
// provider's own package declares. Needs npm, once, and a build. LLM_LAB keeps the packages from one run to the next.
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openArena } from '../../attack/arena.mjs'
import { replaceSection } from '../section.mjs'
import { loadClients, PACKAGES } from './clients.mjs'
import { gatewayFor } from './models.mjs'
import { shapeMistakes } from './shapes.mjs'
import { EXPECTED } from './tasks.mjs'
import { startUpstream } from './upstream.mjs'

/** What cannot be, by task and model. */
const IMPOSSIBLE = {
  embeddings: /anthropic|claude|^responses$|^completions$/,
}

async function main() {
  const args = process.argv.slice(2)
  const wanted = args.filter(each => !each.startsWith('--'))
  const lab = await install()
  const clients = Object.entries(await loadClients(lab)).filter(
    ([name]) => wanted.length === 0 || wanted.some(each => name.includes(each)),
  )
  const arena = openArena()
  const upstream = await startUpstream()
  const { names, models } = gatewayFor(upstream)
  const failures = []
  const cells = new Map(clients.map(([name]) => [name, {}]))
  try {
    const gateway = await arena.start(port => `llm: ${JSON.stringify({ port, models })}`, { env: CREDENTIALS })
    const url = `http://127.0.0.1:${gateway.port}`
    for (const [client, connect] of clients) {
      for (const model of names) {
        upstream.asking = client
        cells.get(client)[model] = await tryAll(client, model, connect(url, model), failures)
      }
      say(`${client.padEnd(26)} ${names.map(model => `${model} ${cells.get(client)[model]}`).join('  ')}`)
    }
    arena.survived()
  } finally {
    await upstream.close()
    await arena.close()
  }
  for (const failure of failures) say(`FAILED ${failure}`)
  const converted = upstream.seen.filter(
    ({ asking, type }) => !NATIVE.some(([client, own]) => client.test(asking) && own.test(type)),
  )
  const found = await shapeMistakes(lab, converted)
  const mistakes = found.mistakes.filter(
    ({ request, message }) => !(request?.body.model === 'llama' && KNOWN.test(message)),
  )
  for (const { request, message } of mistakes)
    say(`SHAPE ${message}\n  ${request?.path} ${JSON.stringify(request?.body).slice(0, 1500)}`)
  say(`${found.checked} different requests have reached a provider, ${mistakes.length} mistakes in their shape`)
  if (args.includes('--record')) await record(names, cells, found.checked)
  if (failures.length + mistakes.length > 0) process.exitCode = 1
}

/** Servers of one's own take what OpenAI's type has no word for (docs/differences.md). */
const KNOWN = /"reasoning_content"' does not exist/

/** What clients send in their own provider's format passes as it is: its shape is theirs. */
const NATIVE = [
  [/completions$|^LangChain, OpenAI/, /ChatCompletion|Embedding/],
  [/responses$|Codex/, /Responses/],
  [/anthropic|Claude/i, /Message/],
  [/google/i, /GenerateContent/],
  [/aws-sdk/, /Converse/],
]

const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'us-east-1' }

/** How many of the tasks came out as they have to. */
async function tryAll(client, model, features, failures) {
  const tasks = Object.entries(features).filter(([task]) => !IMPOSSIBLE[task]?.test(model))
  let passed = 0
  for (const [task, run] of tasks) {
    try {
      EXPECTED[task](await run())
      passed++
    } catch (error) {
      failures.push(`${client}, ${model}, ${task}: ${String(error?.message ?? error).slice(0, 600)}`)
    }
  }
  return `${passed}/${tasks.length}`
}

async function install() {
  const folder = process.env.LLM_LAB ?? join(tmpdir(), 'gwctl-llm-lab')
  mkdirSync(folder, { recursive: true })
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: PACKAGES })
  const file = join(folder, 'package.json')
  if (readIfThere(file) !== manifest) {
    writeFileSync(file, manifest)
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  }
  return folder
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

async function record(names, cells, checked) {
  const head = `| | ${names.join(' | ')} |\n|---|${names.map(() => '---').join('|')}|\n`
  const rows = [...cells].map(([client, row]) => `| ${client} | ${names.map(name => row[name]).join(' | ')} |\n`)
  const versions = Object.entries(PACKAGES).map(([name, version]) => `${name} ${version}`)
  const text = `## LLM clients

\`npm run interop:llm\`: unmodified clients, each with the models of every provider, played by a local server: chat, stream, two tool calls at once and their results, whole and streamed, structured output, a picture, a refusal of the provider, embeddings. All have to come to the same answer. The ${checked} different requests that the providers got have the types that their own packages declare.

${head}${rows.join('')}
${versions.join(', ')}.
`
  const file = fileURLToPath(new URL('../../../docs/interop.md', import.meta.url))
  await replaceSection(file, 'llm', 'npm run interop:llm -- --record', text)
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
