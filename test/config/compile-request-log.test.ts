import { describe, expect, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'

async function loaded(text: string) {
  const { diagnostics, snapshot } = await load('a.yaml', text, {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: () => Buffer.from('sqlite://./from-file.db\n'),
  })
  const findings = diagnostics.filter(d => d.code !== 'GW601' || d.path.includes('database'))
  return { file: snapshot?.telemetry.requestLog?.file, findings: findings.map(d => `${d.code} ${d.path}`) }
}

const config = (url: string) => `config: {database: {url: ${url}}}\nbinds: []\n`

describe('the request database file', () => {
  test.each([
    ["'sqlite://./data.db?mode=rwc'", './data.db'],
    ["'sqlite:///data/data.db'", '/data/data.db'],
    ["'sqlite:data.db'", 'data.db'],
    ["'sqlite://a%20b.db'", 'a b.db'],
    ['{file: url.txt}', './from-file.db'],
  ])('%s', async (url, file) => {
    expect(await loaded(config(url))).toEqual({ file, findings: [] })
  })

  test.each([
    ["'postgres://user:password@db/requests'", 'GW601'],
    ["'sqlite::memory:'", 'GW601'],
    ["'sqlite://x?cache=shared&mode=memory'", 'GW601'],
    ["'mysql://db'", 'GW106'],
    ["'sqlite://'", 'GW106'],
    ["'sqlite://%zz'", 'GW106'],
  ])('%s is not accepted', async (url, code) => {
    expect(await loaded(config(url))).toEqual({ file: undefined, findings: [`${code} config.database.url`] })
  })
})

test('storing prompts and answers is reported as not yet supported', async () => {
  const text = `${config("'sqlite://a.db'")}frontendPolicies: {accessLog: {database: {llm: full}}}\n`
  expect((await loaded(text)).findings).toEqual(['GW601 frontendPolicies.accessLog.database.llm'])
})
