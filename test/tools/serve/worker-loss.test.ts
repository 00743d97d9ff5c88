import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, startReplica, type TestReplica } from '../../helpers/replica.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const WORKERS = 3
const reply = (body: string, policies = '') =>
  `binds: [{port: 80, listeners: [{routes: [{policies: {${policies}directResponse: {status: 200, body: ${body}}}}]}]}]\n`

/** Ends worker after worker, each once its predecessor is replaced, while `during` runs. */
async function whileWorkersEnd<T>(replica: TestReplica, during: () => Promise<T>, rounds = 3): Promise<T> {
  let over = false
  const work = during().finally(() => {
    over = true
  })
  for (let round = 0; round < rounds && !over; round++) {
    const worker = replica.serving.workers.find(({ index }) => index === round % WORKERS)
    await worker?.end()
    await allBack(replica)
  }
  return work
}

const allBack = (replica: TestReplica): Promise<void> =>
  expect.poll(() => replica.serving.workers.filter(({ welcomed }) => welcomed).length).toBe(WORKERS)

/** Until `done`; requests that a worker took with it are counted as well. */
async function load(replica: TestReplica, done: () => boolean, many = 8): Promise<Map<number | string, number>> {
  const seen = new Map<number | string, number>()
  const one = async (): Promise<void> => {
    while (!done()) {
      const outcome = await ask({ port: replica.port(80) }).then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code ?? 'error',
      )
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: many }, one))
  return seen
}

describe('while workers exit', () => {
  let replica: TestReplica
  beforeAll(async () => {
    replica = await startReplica(reply("'0'"), WORKERS)
  })
  afterAll(() => replica[Symbol.asyncDispose]())

  test('counters never decrease and no request fails', async () => {
    let done = false
    const before = requestsIn(countersIn(await replica.metrics()))
    const traffic = load(replica, () => done)
    const totals: Map<string, number>[] = []
    await whileWorkersEnd(replica, async () => {
      for (let i = 0; i < 60; i++) totals.push(countersIn(await replica.metrics()))
    })
    done = true
    const seen = await traffic
    totals.push(countersIn(await replica.metrics()))
    for (const [i, later] of totals.entries()) {
      for (const [series, value] of totals[i - 1] ?? [])
        expect([series, later.get(series)! >= value]).toEqual([series, true])
    }
    expect(seen.get('ECONNREFUSED')).toBe(undefined)
    // A worker that is ended in the middle of a request has not counted it, but nothing is counted twice.
    const counted = requestsIn(totals.at(-1)!) - before
    expect(counted).toBeLessThanOrEqual([...seen.values()].reduce((sum, n) => sum + n, 0))
    expect(counted).toBeGreaterThan(0)
  })

  test('a crashed worker loses no metrics that were not collected yet', async () => {
    await using replica = await startReplica(reply('ok'), 2)
    for (let i = 0; i < 40; i++) await ask({ port: replica.port(80), path: '/crash' })
    // They answer once they are through with those requests.
    await replica.admin('/debug/tasks')
    await Promise.all(replica.serving.workers.map(worker => worker.end()))
    const series = [...countersIn(await replica.metrics())].filter(([name]) =>
      /_requests_total|_seconds_count/.test(name),
    )
    expect(series.map(([name, value]) => [name.split('{')[0], value])).toEqual([
      ['agentgateway_requests_total', 40],
      ['agentgateway_request_duration_seconds_count', 40],
    ])
  })

  test('the rate limit is never exceeded', async () => {
    const config = reply('ok', 'localRateLimit: [{maxTokens: 300, tokensPerFill: 1, fillInterval: 1h}], ')
    await using replica = await startReplica(config, WORKERS)
    let done = false
    const traffic = load(replica, () => done)
    await whileWorkersEnd(replica, () => new Promise<void>(resolve => setTimeout(resolve, 1)))
    await expect.poll(async () => (await ask({ port: replica.port(80) })).status).toBe(429)
    done = true
    const passed = (await traffic).get(200) ?? 0
    expect(passed).toBeLessThanOrEqual(300)
    expect(passed).toBeGreaterThan(200)
  })

  test('every admin path responds and later covers all workers again', async () => {
    const paths = ['/config_dump', '/memory', '/debug/tasks', '/healthz/ready', '/metrics', '/logging']
    const statuses = new Set<string>()
    await whileWorkersEnd(replica, async () => {
      for (let i = 0; i < 25; i++) {
        for (const path of paths) statuses.add(`${path} ${(await replica.admin(path)).status}`)
      }
    })
    expect([...statuses].toSorted()).toEqual(paths.map(path => `${path} 200`).toSorted())
    for (const path of ['/memory', '/debug/tasks']) {
      const { threads } = JSON.parse((await replica.admin(path)).body) as { threads: { thread: string }[] }
      expect(threads.map(({ thread }) => thread)).toEqual(['main', 'worker 0', 'worker 1', 'worker 2'])
    }
  })

  test('a profile covers the remaining workers', async () => {
    const [cpu] = await Promise.all([
      replica.admin('/debug/pprof/profile?seconds=1'),
      expect
        .poll(() => replica.serving.workers.length)
        .toBe(WORKERS)
        .then(() => replica.serving.workers[1]?.end()),
    ])
    expect(cpu.status).toBe(200)
    await allBack(replica)
    expect((await replica.admin('/debug/pprof/heap?seconds=1')).status).toBe(200)
  })

  test('a configured log level applies everywhere', async () => {
    await whileWorkersEnd(replica, async () => {
      for (let i = 0; i < 25; i++) {
        const level = i % 2 === 0 ? 'request=off' : 'request=info'
        expect((await replica.admin(`/logging?level=${level}`, 'POST')).status).toBe(200)
      }
    })
    const before = await replica.said('\trequest ')
    let requests = 0
    await load(replica, () => ++requests > 60)
    expect(await replica.said('\trequest ')).toHaveLength(before.length)
  })

  test('a trace continues with requests of new workers and ends with its last one', async () => {
    const trace = followTrace(replica, 120)
    await trace.ready
    let done = false
    void trace.ended.then(() => {
      done = true
    })
    await whileWorkersEnd(
      replica,
      () => load(replica, () => done || replica.serving.workers.some(({ welcomed }) => !welcomed), 2),
      1,
    )
    // Those that came first may have taken all of them by now, or none.
    await load(replica, () => done, 4)
    const events = (await trace.ended).map(
      text => JSON.parse(text) as { worker: number; request: string; message: { type: string } },
    )
    const of = (type: string) => events.filter(({ message }) => message.type === type).map(each => each.request)
    expect(of('requestStarted')).toHaveLength(120)
    expect(of('requestFinished').toSorted()).toEqual(of('requestStarted').toSorted())
    expect(new Set(events.map(({ worker }) => worker)).size).toBeGreaterThan(1)
  })

  test('a reload reaches all workers, including new ones', async () => {
    await whileWorkersEnd(replica, async () => {
      for (let round = 1; round <= 12; round++) {
        replica.write(reply(`'${round}'`))
        expect(await replica.serving.reload()).toBe(true)
      }
    })
    const bodies = await Promise.all(Array.from({ length: 60 }, () => ask({ port: replica.port(80) })))
    expect(new Set(bodies.map(({ body }) => body))).toEqual(new Set(['12']))
  })

  test('a requested stop finishes the requests of the remaining workers', async () => {
    const waiting: (() => void)[] = []
    await using upstream = await startUpstream((_req, res) => {
      res.write('first ')
      waiting.push(() => res.end('last'))
    })
    const config = `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]\n`
    const replica = await startReplica(config, WORKERS)
    const answers = Array.from({ length: 24 }, () =>
      ask({ port: replica.port(80) }).then(
        ({ body }) => body,
        () => 'cut',
      ),
    )
    await expect.poll(() => waiting.length).toBe(24)
    void replica.serving.workers[0]?.end()
    expect((await replica.admin('/quitquitquit', 'POST')).status).toBe(200)
    await replica.serving.quit
    const stopped = replica[Symbol.asyncDispose]()
    for (const finish of waiting) finish()
    const bodies = await Promise.all(answers)
    await stopped
    expect(new Set(bodies)).toEqual(new Set(['first last', 'cut']))
    expect(bodies.filter(body => body === 'cut').length).toBeLessThan(24)
  })
})

test('an evicted endpoint stays evicted for new workers', async () => {
  await using bad = await startUpstream((_req, res) => res.writeHead(500).end('bad'))
  await using good = await startUpstream((_req, res) => res.end('good'))
  const workload = (port: number) =>
    `{workloadIps: [127.0.0.1], namespace: default, services: {default/app.test: {'80': ${port}}}}`
  await using replica = await startReplica(
    `services: [{name: app, namespace: default, hostname: app.test, vips: [], ports: {'80': 8080}}]
workloads: [${workload(bad.port)}, ${workload(good.port)}]
binds:
- port: 80
  listeners:
  - routes:
    - backends:
      - service: {name: default/app.test, port: 80}
        policies: {health: {eviction: {consecutiveFailures: 1, duration: 1h}}}
`,
    2,
  )
  const bodies = async (count: number) => {
    const seen = new Set<string>()
    for (let i = 0; i < count; i++) seen.add((await ask({ port: replica.port(80) })).body)
    return seen
  }
  await bodies(40)
  const states = async () => {
    const { backends } = JSON.parse((await replica.admin('/config_dump')).body) as {
      backends: { health: { state: string; timesEvicted: number }[] }[]
    }
    return backends[0]!.health.map(({ state, timesEvicted }) => `${state} ${timesEvicted}`).toSorted()
  }
  const before = await states()
  expect(before.filter(state => state.startsWith('evicted'))).toEqual(['evicted 1'])
  await Promise.all(replica.serving.workers.map(worker => worker.end()))
  await expect.poll(() => replica.serving.workers.filter(({ welcomed }) => welcomed).length).toBe(2)
  expect(await states()).toEqual(before)
  expect(await bodies(30)).toEqual(new Set(['good']))
})

test('without workers the replica is not ready until they are replaced', async () => {
  await using replica = await startReplica(reply('ok'), 2)
  await Promise.all(replica.serving.workers.map(worker => worker.end()))
  const { status, body } = await replica.admin('/healthz/ready')
  expect([status, body]).toEqual([500, 'not ready, pending: workers\n'])
  const ready = async () => (await replica.admin('/healthz/ready')).status
  await expect.poll(ready).toBe(200)
  expect((await ask({ port: replica.port(80) })).body).toBe('ok')
})

/** Samples of counters and of the parts of histograms. */
function countersIn(metrics: string): Map<string, number> {
  const out = new Map<string, number>()
  let counts = false
  for (const line of metrics.split('\n')) {
    if (line.startsWith('# TYPE ')) counts = / (counter|histogram)$/.test(line)
    else if (counts && line !== '' && !line.startsWith('#')) {
      const at = line.lastIndexOf(' ')
      out.set(line.slice(0, at), Number(line.slice(at + 1)))
    }
  }
  return out
}

function requestsIn(counters: ReadonlyMap<string, number>): number {
  return [...counters].reduce((sum, [name, n]) => sum + (name.startsWith('agentgateway_requests_total') ? n : 0), 0)
}

function followTrace(replica: TestReplica, requests: number) {
  const [host, port] = replica.serving.admin.split(':')
  let isReady: () => void = () => {}
  const ready = new Promise<void>(resolve => {
    isReady = resolve
  })
  const path = `/debug/trace?follow=${requests}&seconds=60`
  const ended = new Promise<string[]>((resolve, reject) => {
    const sent = request({ host, port, path, method: 'POST', agent: false }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        if (text.includes(': ready')) isReady()
      })
      const dataOf = () =>
        text.split('\n').flatMap(line => (line.startsWith('data: {"') ? [line.slice('data: '.length)] : []))
      response.on('end', () => resolve(dataOf().filter(line => line.includes('"request"'))))
    })
    sent.on('error', reject).end()
  })
  return { ready, ended }
}
