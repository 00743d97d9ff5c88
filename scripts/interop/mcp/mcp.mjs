// npm run interop:mcp [-- --record]: does the official conformance suite of MCP find through the gateway what it finds
// without it? In both eras, with one target over HTTP, one over stdio, and three multiplexed, of which each is asked in
// turn; then where client and target are of different eras; then the other leg: the suite's servers behind the gateway.
// A target that is dead has to score the floor, or the check proves nothing. Needs npm, once, and a build.
import { fileURLToPath } from 'node:url'
import { openArena } from '../../attack/arena.mjs'
import { replaceSection } from '../section.mjs'
import { startShim } from './prefix-shim.mjs'
import { conformance, ERAS, install } from './suite.mjs'
import { gatewayOf, httpTarget, sseTarget, startFixture, stdioTarget } from './targets.mjs'

/** What passes where nobody answers: scenarios of 2026-07-28 that any error will do for, whatever it says. */
const FLOOR = { '2025-11-25': 0, '2026-07-28': 5 }

/**
 * What no gateway can do for a client of 2026-07-28 whose target asks in sessions: such a server gives its questions no
 * names, and asks them one after another.
 */
const UNNAMED = ['input-required-result-basic-elicitation', 'input-required-result-multiple-input-requests']

const CLIENT = fileURLToPath(new URL('suite-client.mjs', import.meta.url))
/**
 * Of clients that the target itself sends to an authorization server: they ask it for the resource that they talk to,
 * which is the gateway, and the suite waits for its own address. And a target that names a foreign resource is not found
 * out behind a gateway, which names itself.
 */
const OWN_RESOURCE = [
  ...['default', 'var1', 'var2', 'var3'].map(name => `auth/metadata-${name}`),
  ...['basic', 'post', 'none'].map(name => `auth/token-endpoint-auth-${name}`),
]
const BEHIND_GATEWAY = { [ERAS[0]]: OWN_RESOURCE, [ERAS[1]]: [...OWN_RESOURCE, 'auth/resource-mismatch'] }

const rows = []
let bad = false

async function main() {
  const lab = await install()
  const arena = openArena()
  const fixtures = []
  const fixture = async (...args) => {
    const started = await startFixture(...args)
    fixtures.push(started)
    return started.port
  }
  try {
    const http = await fixture('http')
    const sse = await fixture('sse')
    const ask = (port, era) => conformance(lab, era, ['--url', `http://localhost:${port}/mcp`])
    await row('the server without a gateway', era => ask(http, era))

    const one = await arena.start(gatewayOf([httpTarget('http', http)]))
    await row('one target over HTTP', era => ask(one.port, era))
    const program = await arena.start(gatewayOf([stdioTarget('stdio')]))
    await row('one target over stdio', era => ask(program.port, era))

    const three = await arena.start(gatewayOf([httpTarget('http', http), sseTarget('sse', sse), stdioTarget('stdio')]))
    for (const target of ['http', 'sse', 'stdio']) {
      const shim = await startShim(three.port, target)
      await row(`three targets, asking ${target}`, era => ask(shim.port, era))
      shim.close()
    }

    const older = await arena.start(gatewayOf([httpTarget('http', await fixture('http', 'legacy'))]))
    const newer = await arena.start(gatewayOf([httpTarget('http', await fixture('http', 'modern'))]))
    await row('a target of the other era', era => ask((era === ERAS[0] ? newer : older).port, era), {
      [ERAS[1]]: UNNAMED,
    })

    const dead = await arena.start(gatewayOf([httpTarget('http', await arena.freePort())]))
    await row('the target is dead', era => ask(dead.port, era), {}, FLOOR)

    const client = more => era =>
      conformance(lab, era, ['--command', `${process.execPath} ${CLIENT}`], {
        leg: 'client',
        env: { MCP_LAB: lab, ...more },
      })
    await row('a client without a gateway', client({}))
    await row('a client through the gateway', client({ GATEWAY: '1' }), BEHIND_GATEWAY)

    arena.survived()
  } finally {
    for (const { stop } of fixtures) stop()
    await arena.close()
  }
  if (process.argv.includes('--record')) {
    const file = fileURLToPath(new URL('../../../docs/interop.md', import.meta.url))
    await replaceSection(file, 'mcp', 'npm run interop:mcp -- --record', section())
  }
  if (bad) process.exitCode = 1
}

/** `skips`: scenarios by era that cannot pass; `floor`: what has to be scored exactly, instead of everything. */
async function row(name, score, skips = {}, floor) {
  const cells = {}
  for (const era of ERAS) {
    const { passed, total, failed } = await score(era)
    const skipped = skips[era] ?? []
    const wanted = floor?.[era] ?? total - skipped.length
    const missed = floor === undefined ? failed.filter(each => !skipped.includes(each)) : []
    if (passed !== wanted || missed.length > 0) bad = true
    cells[era] = `${passed}/${total}`
    const about = [
      floor === undefined && missed.length > 0 && `FAILED: ${missed.join(', ')}`,
      floor !== undefined && passed !== wanted && `FAILED: the floor is ${wanted}`,
      skipped.length > 0 && `cannot pass: ${skipped.join(', ')}`,
    ].filter(Boolean)
    say(`${name.padEnd(40)} ${era}  ${cells[era].padStart(5)}  ${about.join('; ')}`)
  }
  rows.push({ name, ...cells })
}

function section() {
  const head = `| the suite against | ${ERAS.join(' | ')} |\n|---|---|---|\n`
  const body = rows.map(({ name, ...cells }) => `| ${name} | ${ERAS.map(era => cells[era]).join(' | ')} |\n`)
  return `## MCP

The scored scenarios of \`@modelcontextprotocol/conformance\` 0.2.0-alpha.12, against the server of these trials and through the gateway. A dead target has to score what a closed port does. What cannot pass: a server of sessions gives its questions no names, which two scenarios of 2026-07-28 ask for; and a client that the target sends to an authorization server asks it for the resource that it talks to, the gateway, where seven scenarios wait for the address of the suite, and an eighth for a foreign one. Nor could the gateway act as that server and ask for the suite's address: the server names itself in its redirect to the client (RFC 9207), which passes no gateway, and clients refuse any name but that of the server whose metadata they read.

${head}${body.join('')}`
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
