// A real OpenTelemetry Collector on loopback, built and started from a harness (OTEL_HARNESS): what it receives, as it
// prints it.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** `bin`: where the program is, or is built to when it is not there (which needs Go, once). */
export async function startCollector(harness, bin) {
  execFileSync('sh', [join(harness, 'build.sh'), resolve(bin)], { stdio: ['ignore', 'ignore', 'inherit'] })
  const version = /V=(v[\d.]+)/.exec(await readFile(join(harness, 'build.sh'), 'utf8'))?.[1]
  const directory = await mkdtemp(join(tmpdir(), 'gwctl-otel-'))
  const [grpc, http] = [await freePort(), await freePort()]
  const config = (await readFile(join(harness, 'config.yaml'), 'utf8')).replace('4317', grpc).replace('4318', http)
  await writeFile(join(directory, 'config.yaml'), config)
  const child = spawn(join(resolve(bin), 'otelcol'), ['--config', join(directory, 'config.yaml')])
  let printed = ''
  const waiting = new Set()
  const take = part => {
    printed += part
    for (const check of waiting) check()
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const ended = new Promise(done => child.on('close', done))
  const until = (what, condition) =>
    new Promise((done, fail) => {
      const check = () => {
        if (!condition(printed)) return
        waiting.delete(check)
        clearTimeout(timer)
        done()
      }
      const timer = setTimeout(() => {
        waiting.delete(check)
        fail(new Error(`the collector has not printed ${what} within 20 s:\n${printed.slice(-2000)}`))
      }, 20_000)
      waiting.add(check)
      check()
    })
  const stop = async () => {
    child.kill()
    await ended
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await until('that it is ready', text => text.includes('Everything is ready'))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    version,
    ports: { grpc, http },
    stop,
    /** Records since the last call, once there are as many. */
    async received({ spans, logs }) {
      await until(
        `${spans} spans and ${logs} log records`,
        text => count(text, SPAN) >= spans && count(text, LOG) >= logs,
      )
      const found = { spans: records(printed, SPAN), logs: records(printed, LOG) }
      printed = ''
      return found
    },
  }
}

const SPAN = /^Span #\d+$/gm
const LOG = /^LogRecord #\d+$/gm

/** Records that are there to their end: the exporter prints a batch as a whole, and its log line last. */
function count(text, heading) {
  const end = text.lastIndexOf('\n\t{')
  return end < 0 ? 0 : (text.slice(0, end).match(heading)?.length ?? 0)
}

const ANY_HEADING = /^(?:Span #|LogRecord #|ScopeSpans #|ScopeLogs #|ResourceSpans #|ResourceLog #|\t\{)/m

/** Each record of the debug exporter: its lines `Name : value`, and its attributes apart. */
function records(text, heading) {
  return [...text.matchAll(heading)].map(({ index }) => {
    const rest = text.slice(index + 1)
    const end = rest.search(ANY_HEADING)
    const fields = {}
    const attributes = {}
    for (const line of (end < 0 ? rest : rest.slice(0, end)).split('\n')) {
      const attribute = /^\s+-> ([^:]+): \w+\((.*)\)$/.exec(line)
      if (attribute) attributes[attribute[1]] = attribute[2]
      const field = attribute ? null : /^\s*([A-Za-z ]+?)\s*: ?(.*)$/.exec(line)
      if (field) fields[field[1]] = field[2]
    }
    return { fields, attributes }
  })
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer()
    server.on('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => done(port))
    })
  })
}
