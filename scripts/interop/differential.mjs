// npm run interop:differential [-- --check] [TOPIC/CASE...]: what does the public system answer to the cases of
// fixtures/differential? Writes it beside each case, from where the tests compare it with what gwctl answers. With
// --check nothing is written: both systems run, and the exit code is 1 where an answer is not the recorded one, or where
// gwctl's differs from it unexpectedly.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { portsOf, readCases } from '../../test/acceptance/differential/cases.ts'
import { differences, unexpected } from '../../test/acceptance/differential/compare.ts'
import { isRecord, startGwctl } from '../../test/acceptance/differential/gwctl.ts'
import { play, until } from '../../test/acceptance/differential/play.ts'
import { ENV, Refused } from '../../test/acceptance/differential/system.ts'

const BIN = process.env.ORACLE ?? fileURLToPath(new URL('../../../shared/oracle/agentgateway', import.meta.url))

async function main() {
  if (
    !(await access(BIN).then(
      () => true,
      () => false,
    ))
  ) {
    process.stdout.write(`no public system at ${BIN}: nothing was compared (set ORACLE)\n`)
    return
  }
  const check = process.argv.includes('--check')
  const wanted = process.argv.slice(2).filter(each => !each.startsWith('--'))
  const cases = readCases().filter(({ id }) => wanted.length === 0 || wanted.some(each => id.startsWith(each)))
  let changed = 0
  for (const each of cases) {
    const theirs = await play(each, start).catch(error => {
      throw new Error(`${each.id}: ${error.message}`, { cause: error })
    })
    const recorded = await readFile(each.recording, 'utf8').then(JSON.parse, () => ({ replies: {} }))
    const found = differences(recorded, theirs, each.json)
    if (found.length > 0) changed++
    if (check) {
      for (const { at, theirs: before, ours: now } of found) say(`${each.id}: ${at}: recorded ${before}, now ${now}`)
      changed += await compare(each, theirs)
    } else if (found.length > 0) await writeFile(each.recording, `${JSON.stringify(theirs, null, 1)}\n`)
  }
  const requests = cases.reduce((sum, each) => sum + (each.expressions ?? each.requests).length, 0)
  say(`${cases.length} cases, ${requests} requests; ${changed} ${check ? 'not as expected' : 'recorded anew'}`)
  if (check && changed > 0) process.exitCode = 1
}

/** The public system and gwctl now. */
async function compare(each, theirs) {
  const { surprises, stale } = unexpected(
    differences(theirs, await play(each, startGwctl), each.json),
    each.differs ?? [],
  )
  for (const { at, theirs: one, ours } of surprises)
    say(`${each.id}: ${at}: theirs ${JSON.stringify(one)}, ours ${JSON.stringify(ours)}`)
  for (const at of stale) say(`${each.id}: ${at}: listed, but no difference`)
  return surprises.length + stale.length > 0 ? 1 : 0
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

/** Runs the binary on free ports. */
async function start(config, files) {
  const directory = await mkdtemp(join(tmpdir(), 'gwctl-differential-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  const ports = await freePorts([...portsOf(config), 'admin', 'stats', 'readiness'])
  await writeFile(join(directory, 'config.json'), JSON.stringify(configure(config, ports)))
  const child = spawn(BIN, ['-f', 'config.json'], {
    cwd: directory,
    env: { ...process.env, ...ENV },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let exited = false
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output += chunk
    })
  const exit = new Promise(resolve => child.once('close', resolve)).then(() => {
    exited = true
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await exit
    await rm(directory, { recursive: true })
  }
  const url = `http://127.0.0.1:${ports.get('readiness')}/healthz/ready`
  try {
    await until(() => {
      if (exited) throw new Refused(output.slice(-600).replace(/Stack backtrace[\s\S]*/, ''))
      return fetch(url).then(
        reply => reply.ok,
        () => false,
      )
    }, 'the public system')
  } catch (error) {
    await stop()
    throw error
  }
  return {
    portOf: port => ports.get(port),
    records: () => output.split('\n').filter(line => isRecord(line)),
    metrics: () => fetch(`http://127.0.0.1:${ports.get('stats')}/metrics`).then(reply => reply.text()),
    [Symbol.asyncDispose]: stop,
  }
}

function configure(config, ports) {
  const at = name => `127.0.0.1:${ports.get(name)}`
  const own = { adminAddr: at('admin'), statsAddr: at('stats'), readinessAddr: at('readiness'), enableIpv6: false }
  const { binds, gateways } = config
  return {
    ...config,
    config: { ...own, workerThreads: 1, ...config.config, logging: { format: 'json', ...config.config?.logging } },
    ...(binds && { binds: binds.map(bind => ({ ...bind, port: ports.get(bind.port) })) }),
    ...(gateways && {
      gateways: Object.fromEntries(
        Object.entries(gateways).map(([name, each]) => [name, { ...each, port: ports.get(each.port) }]),
      ),
    }),
  }
}

/** One for each name, below those that the system gives to others in the meantime. */
async function freePorts(names) {
  const ports = new Map()
  const held = []
  while (ports.size < names.length) {
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    const server = createServer()
    const taken = once(server, 'error').then(() => true)
    server.listen(port, '127.0.0.1')
    if (
      await Promise.race([
        taken,
        once(server, 'listening').then(
          () => false,
          () => true,
        ),
      ])
    )
      continue
    held.push(server)
    ports.set(names[ports.size], port)
  }
  await Promise.all(held.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}

await main()
