// How the cost of finding a request's route grows with the configuration: processor time per request, in microseconds.

import { load } from '../src/config/load.ts'
import { offlineRuntime } from '../src/config/offline-runtime.ts'
import { coverage, routeTables } from '../src/engine/route-table.ts'
import { HeaderList } from '../src/http/headers.ts'

const SIZES = [10, 100, 1000, 10_000]
/** ms of each round. */
const WORK = 40
const ROUNDS = 5

const count = (n, make) => Array.from({ length: n }, (_, i) => make(i))
const answer = { policies: { directResponse: { status: 200 } } }
const prefix = path => [{ path: { pathPrefix: path } }]
const one = routes => [{ routes }]

/** Listeners of a size, and the request that comes last in them. */
const AXES = {
  'routes of one host': n => [
    one(count(n, i => ({ name: `r${i}`, matches: prefix(`/api/${i}`), ...answer }))),
    `/api/${n - 1}`,
    'a.test',
  ],
  'routes by host': n => [
    one(count(n, i => ({ name: `r${i}`, hostnames: [`h${i}.test`], ...answer }))),
    '/',
    `h${n - 1}.test`,
  ],
  'routes by wildcard': n => [
    one(count(n, i => ({ name: `r${i}`, hostnames: [`*.h${i}.test`], ...answer }))),
    '/',
    `x.h${n - 1}.test`,
  ],
  'no route': n => [
    one(count(n, i => ({ name: `r${i}`, matches: prefix(`/api/${i}`), ...answer }))),
    '/nothing',
    'a.test',
  ],
  listeners: n => [
    count(n, i => ({ name: `l${i}`, hostname: `h${i}.test`, routes: [{ name: 'r', ...answer }] })),
    '/',
    `h${n - 1}.test`,
  ],
}

async function measure(make, size) {
  const [listeners, path, host] = make(size)
  const text = JSON.stringify({ binds: [{ port: 8080, listeners }] })
  const options = { env: {}, tier: 'env', runtime: offlineRuntime(), readReferenced: () => undefined, advice: false }
  const { snapshot } = await load('growth.yaml', text, options)
  const tables = routeTables(snapshot)
  const bind = snapshot.binds[0]
  const head = { method: 'GET', scheme: 'http', authority: host, path, headers: new HeaderList() }
  let found = 0
  const run = () => {
    const listener = bind.listenerFor(host)
    if (tables.get(listener)?.find(head, host)) found++
    if (coverage(bind, listener, host) === 'own') found++
  }
  const cpu = () => {
    const { user, system } = process.threadCpuUsage()
    return user + system
  }
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpu()
    let requests = 0
    while (cpu() - before < WORK * 1000) {
      for (let i = 0; i < 100; i++) run()
      requests += 100
    }
    rounds.push((cpu() - before) / requests)
  }
  if (found === 0) throw new Error('nothing was found')
  return Math.min(...rounds)
}

console.log(`${'µs a request'.padEnd(22)}${SIZES.map(size => String(size).padStart(9)).join('')}`)
for (const [name, make] of Object.entries(AXES)) {
  const row = []
  for (const size of SIZES) row.push((await measure(make, size)).toFixed(2).padStart(9))
  console.log(name.padEnd(22) + row.join(''))
}
