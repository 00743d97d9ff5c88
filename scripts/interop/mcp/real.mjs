// npm run interop:mcp-real [-- --record]: MCP servers and clients as their authors publish them. All servers stand
// behind one gateway: their lists have to be theirs but for the names, and their answers theirs; then each client
// lists and calls through it. Needs npm, and pip for a server in Python; MCP_REAL_LAB keeps the packages.
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import { openArena } from '../../attack/arena.mjs'
import { replaceSection } from '../section.mjs'
import { gatewayOf } from './targets.mjs'

const PACKAGES = {
  '@modelcontextprotocol/server-everything': '2026.8.31',
  '@modelcontextprotocol/server-memory': '2026.8.31',
  '@modelcontextprotocol/server-filesystem': '2026.8.31',
  '@modelcontextprotocol/server-sequential-thinking': '2026.8.31',
  '@bytebase/dbhub': '1.4.0',
  '@playwright/mcp': '0.0.83',
  '@modelcontextprotocol/sdk': '1.32.2',
  '@modelcontextprotocol/client': '2.4.0',
  '@modelcontextprotocol/inspector': '2.12.0',
  mcporter: '0.12.3',
  'mcp-remote': '0.15.1',
}
const run = promisify(execFile)
const patience = { timeout: 120_000 }
let bad = false

async function main() {
  const lab = await install()
  const bin = name => join(lab, 'node_modules/.bin', name)
  const targets = targetsIn(lab, bin)
  const { resolve } = createRequire(join(lab, 'package.json'))
  const load = name => import(pathToFileURL(resolve(name)).href)
  const [{ Client }, http, stdio, newer] = await Promise.all(
    [
      '@modelcontextprotocol/sdk/client/index.js',
      '@modelcontextprotocol/sdk/client/streamableHttp.js',
      '@modelcontextprotocol/sdk/client/stdio.js',
      '@modelcontextprotocol/client',
    ].map(load),
  )
  const arena = openArena()
  const servers = []
  const clients = []
  try {
    const configured = targets.map(({ name, stdio }) => ({ name, stdio }))
    const gateway = await arena.start(gatewayOf(configured))
    const url = `http://127.0.0.1:${gateway.port}/mcp`
    const connected = async transport => {
      const client = new Client({ name: 'trial', version: '1' })
      await client.connect(transport, patience)
      return client
    }
    const through = await connected(new http.StreamableHTTPClientTransport(new URL(url)))
    const merged = await listsOf(through)
    for (const { name, stdio: program, call } of targets) {
      const { cmd: command, args, env } = program
      const options = { command, args, env: { ...process.env, ...env }, stderr: 'ignore' }
      const straight = await connected(new stdio.StdioClientTransport(options))
      const wanted = { ...(await listsOf(straight)), answer: await straight.callTool(call, undefined, patience) }
      const own = { ...call, name: `${name}_${call.name}` }
      const got = { ...partOf(merged, name), answer: await through.callTool(own, undefined, patience) }
      servers.push(row(name, wanted, got))
      await straight.close()
    }
    await through.close()
    clients.push(['SDK 1.32', merged.tools.length])
    for (const [name, list] of clientsOf({ ...newer, connected, stdio }, bin, lab)) {
      const count = await list(url).catch(error => `fails: ${String(error.stderr || error.message).slice(0, 200)}`)
      if (count !== merged.tools.length) bad = true
      clients.push([name, count])
    }
    for (const [name, count] of clients) say(`${name.padEnd(28)} ${count} tools, and a call`)
    arena.survived()
  } finally {
    await arena.close()
  }
  if (process.argv.includes('--record')) {
    const file = fileURLToPath(new URL('../../../docs/interop.md', import.meta.url))
    await replaceSection(file, 'mcp-real', 'npm run interop:mcp-real -- --record', section(servers, clients))
  }
  if (bad) process.exitCode = 1
}

/** The servers, and a call whose answer is the same each time. */
function targetsIn(lab, bin) {
  const files = join(lab, 'files')
  mkdirSync(files, { recursive: true })
  writeFileSync(join(files, 'a.txt'), 'hello\n')
  const memory = join(lab, 'memory.json')
  writeFileSync(memory, '')
  const target = (name, cmd, args, tool, given, env = {}) => ({
    name,
    stdio: { cmd, args, env },
    call: { name: tool, arguments: given },
  })
  const thought = { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
  const all = [
    target('everything', bin('mcp-server-everything'), ['stdio'], 'get-sum', { a: 2, b: 3 }),
    target('memory', bin('mcp-server-memory'), [], 'read_graph', {}, { MEMORY_FILE_PATH: memory }),
    target('files', bin('mcp-server-filesystem'), [files], 'read_text_file', { path: join(files, 'a.txt') }),
    target('thinking', bin('mcp-server-sequential-thinking'), [], 'sequentialthinking', thought),
    target('dbhub', bin('dbhub'), ['--demo'], 'execute_sql', { sql: 'select 1 as one' }),
    // Without a browser, every call is an error, and that has to come through, too.
    target('playwright', bin('playwright-mcp'), ['--headless'], 'browser_close', {}),
  ]
  const git = join(lab, 'venv/bin/mcp-server-git')
  if (existsSync(git)) {
    const repository = join(lab, 'repository')
    if (!existsSync(repository)) execFileSync('git', ['init', '-q', repository])
    all.push(target('git', git, [], 'git_status', { repo_path: repository }))
  } else say('skipped: git, whose server needs Python and pip')
  return all
}

/** Each lists all tools and calls one; what it says is how many there are. */
function clientsOf({ Client, StreamableHTTPClientTransport, connected, stdio }, bin, lab) {
  const sum = '{"a":2,"b":3}'
  const env = { ...process.env, HOME: lab }
  const command = async (name, ...args) => (await run(bin(name), args, { ...patience, env, maxBuffer: 1 << 26 })).stdout
  const sdk = mode => async url => {
    const client = new Client({ name: 'trial', version: '2' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    const { tools } = await client.listTools()
    await client.callTool({ name: 'everything_get-sum', arguments: { a: 2, b: 3 } })
    await client.close()
    return tools.length
  }
  const inspector = era => async url => {
    const ask = (...args) =>
      command('mcp-inspector', '--cli', url, '--protocol-era', era, '--format', 'json', '-q', ...args)
    const answer = await ask('--method', 'tools/call', '--tool-name', 'everything_get-sum', '--tool-args-json', sum)
    if (!answer.includes('2 and 3 is 5')) throw new Error(answer)
    const { tools } = JSON.parse(await ask('--method', 'tools/list')).result
    // One server has a tool more for clients with roots.
    return tools.filter(({ name }) => name !== 'everything_get-roots-list').length
  }
  return [
    ['SDK 2.4, legacy', sdk('legacy')],
    ['SDK 2.4, auto', sdk('auto')],
    ['inspector, legacy', inspector('legacy')],
    ['inspector, modern', inspector('modern')],
    [
      'mcporter',
      async url => {
        const answer = await command(
          'mcporter',
          'call',
          '--http-url',
          url,
          '--allow-http',
          '--tool',
          'everything_get-sum',
          '--args',
          sum,
        )
        if (!answer.includes('2 and 3 is 5')) throw new Error(answer)
        const listed = await command('mcporter', 'list', url, '--allow-http', '--json')
        return (listed.match(/"inputSchema"/g) ?? []).length
      },
    ],
    [
      'mcp-remote',
      async url => {
        const args = [url, '--transport', 'http-only', '--allow-http']
        const client = await connected(
          new stdio.StdioClientTransport({ command: bin('mcp-remote'), args, env, stderr: 'ignore' }),
        )
        const { tools } = await client.listTools()
        await client.callTool({ name: 'everything_get-sum', arguments: { a: 2, b: 3 } })
        await client.close()
        return tools.length
      },
    ],
  ]
}

const LISTS = {
  tools: 'listTools',
  prompts: 'listPrompts',
  resources: 'listResources',
  resourceTemplates: 'listResourceTemplates',
}

/** All pages of what a server offers. */
async function listsOf(client) {
  const has = client.getServerCapabilities()
  const out = {}
  for (const [list, method] of Object.entries(LISTS)) {
    out[list] = []
    if (!has[list === 'resourceTemplates' ? 'resources' : list]) continue
    let cursor
    do {
      const page = await client[method]({ cursor }, patience)
      out[list].push(...page[list])
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }
  return out
}

/** What of the merged lists is one target's, under the names that it has itself. */
function partOf(merged, target) {
  const [name, uri] = [`${target}_`, `${target}+`]
  const named = list =>
    list.flatMap(each => (each.name.startsWith(name) ? [{ ...each, name: each.name.slice(name.length) }] : []))
  const addressed = (list, key) =>
    list.flatMap(each => (each[key].startsWith(uri) ? [{ ...each, [key]: each[key].slice(uri.length) }] : []))
  return {
    tools: named(merged.tools),
    prompts: named(merged.prompts),
    resources: addressed(merged.resources, 'uri'),
    resourceTemplates: addressed(merged.resourceTemplates, 'uriTemplate'),
  }
}

function row(name, wanted, got) {
  const differ = Object.keys(wanted).filter(each => !isDeepStrictEqual(wanted[each], got[each]))
  if (differ.length > 0) bad = true
  const { answer: _, ...lists } = wanted
  const counts = Object.values(lists).map(list => list.length)
  say(`${name.padEnd(12)} ${counts.join(' ')} ${differ.length === 0 ? 'the same' : `DIFFERENT: ${differ.join(', ')}`}`)
  for (const each of differ) {
    say(
      `  straight ${JSON.stringify(wanted[each]).slice(0, 600)}\n  through  ${JSON.stringify(got[each]).slice(0, 600)}`,
    )
  }
  return [name, ...counts, differ.length === 0 ? 'the same' : differ.join(', ')]
}

function section(servers, clients) {
  const versions = Object.entries(PACKAGES).map(([name, version]) => `${name} ${version}`)
  return `### Real servers and clients

Servers as they are published, all behind one gateway over stdio. What they list and answer has to be what they list and answer by themselves, but for the names.

| server | tools | prompts | resources | templates | through the gateway |
|---|---|---|---|---|---|
${servers.map(cells => `| ${cells.join(' | ')} |\n`).join('')}
Clients that list all of their tools and call one: ${clients.map(([name, count]) => `${name} (${count})`).join(', ')}.

${versions.join(', ')}.
`
}

async function install() {
  const folder = process.env.MCP_REAL_LAB ?? join(tmpdir(), 'gwctl-mcp-real-lab')
  mkdirSync(folder, { recursive: true })
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: PACKAGES })
  const file = join(folder, 'package.json')
  if (!existsSync(file) || readFileSync(file, 'utf8') !== manifest) {
    writeFileSync(file, manifest)
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  }
  if (!existsSync(join(folder, 'venv/bin/mcp-server-git'))) {
    const python = async (...args) => run(args[0], args.slice(1), { cwd: folder })
    await python('python3', '-m', 'venv', 'venv')
      .then(() => python('venv/bin/pip', 'install', '-q', 'mcp-server-git'))
      .catch(() => {})
  }
  return folder
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
