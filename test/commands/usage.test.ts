import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { openRequestDatabase, type RequestRow } from '../../src/files/request-database.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { docPage } from '../helpers/doc-page.ts'

const root = new URL('../../', import.meta.url)
let folder: string

const ROW: RequestRow = {
  id: '',
  started_at: '2026-11-01T10:00:00.000Z',
  completed_at: '2026-11-01T10:00:01.000Z',
  duration_ms: 1000,
  trace_id: null,
  span_id: null,
  http_status: 200,
  error: null,
  gen_ai_operation_name: 'chat',
  gen_ai_provider_name: 'openai',
  gen_ai_request_model: 'gpt-4o',
  gen_ai_response_model: 'gpt-4o',
  input_tokens: 1000,
  output_tokens: 200,
  total_tokens: 1200,
  cost: 0.0045,
  agentgateway_user: 'ann',
  agentgateway_group: 'search',
  user_agent_name: 'claude-cli',
  has_payload: 0,
  attributes_json: '{}',
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-usage-'))
  const database = await openRequestDatabase(join(folder, 'requests.db'))
  database.insert([
    { ...ROW, id: '1' },
    { ...ROW, id: '2', agentgateway_user: 'bob', gen_ai_request_model: 'o3', cost: 1.5 },
    { ...ROW, id: '3', completed_at: '2026-11-02T10:00:01+00:00', gen_ai_request_model: '=cmd()', cost: null },
    { ...ROW, id: '4', http_status: 429, input_tokens: null, output_tokens: null, total_tokens: null, cost: null },
  ])
  database.close()
  writeFileSync(join(folder, 'gateway.yaml'), configured('sqlite://./requests.db'))
  writeFileSync(join(folder, 'none.yaml'), 'binds: []\n')
  writeFileSync(join(folder, 'memory.yaml'), configured('sqlite::memory:'))
  writeFileSync(join(folder, 'broken.yaml'), 'binds: [\n')
  writeFileSync(join(folder, 'broken.db'), 'SQLite format 3\0 and nothing of it')
})
afterAll(() => rmSync(folder, { recursive: true }))

const configured = (url: string) => `config: {database: {url: '${url}'}}\nbinds: []\n`

async function gwctl(...argv: readonly string[]) {
  const io = memoryIo({ cwd: folder })
  const code = await main([...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

test('lists the most expensive model first, with a total and unpriced requests', async () => {
  expect(await gwctl('usage', 'gateway.yaml')).toMatchObject({
    code: 0,
    out: [
      'model   requests  errors  input  output  tokens     cost     mean',
      'o3             1       0  1,000     200   1,200    $1.50  1000 ms',
      'gpt-4o         2       1  1,000     200   1,200  $0.0045  1000 ms',
      '=cmd()         1       0  1,000     200   1,200        -  1000 ms',
      'total          4       1  3,000     600   3,600    $1.50  1000 ms',
      '1 of 4 requests have no price: see `config.modelCatalog`.',
      '',
    ].join('\n'),
  })
})

test('groups by several keys, over time, and prints data', async () => {
  const { out } = await gwctl('usage', 'requests.db', '--by', 'day,user', '--since', '2026-11-01', '-o', 'json')
  expect(JSON.parse(out)).toMatchObject({
    groups: [
      { day: '2026-11-01', user: 'bob', requests: 1, cost: 1.5 },
      { day: '2026-11-01', user: 'ann', requests: 2, errors: 1, cost: 0.0045 },
      { day: '2026-11-02', user: 'ann', requests: 1, cost: null, unpriced: 1 },
    ],
    total: { requests: 4, totalTokens: 3600, cost: 1.5045 },
  })
  expect((await gwctl('usage', 'requests.db', '--since', '2026-11-02', '--by', 'model', '-o', 'csv')).out).toBe(
    "model,requests,errors,inputTokens,outputTokens,totalTokens,cost,meanMs\r\n'=cmd(),1,0,1000,200,1200,,1000\r\n",
  )
  expect((await gwctl('usage', 'requests.db', '--since', '2027-01-01')).out).toBe('no requests\n')
})

test.each([
  [['usage'], 2, 'is missing'],
  [['usage', 'gateway.yaml', '--by', 'modle'], 2, 'did you mean `model`'],
  [['usage', 'gateway.yaml', '--since', 'yesterday'], 2, 'is not a time'],
  [['usage', 'absent.yaml'], 3, 'does not exist'],
  [['usage', 'none.yaml'], 3, 'names no request database'],
  [['usage', 'memory.yaml'], 3, 'names no request database'],
  [['usage', 'broken.yaml'], 3, 'cannot be loaded'],
  [['usage', 'broken.db'], 3, 'cannot be read'],
])('rejects %s', async (argv, code, why) => {
  const found = await gwctl(...argv)
  expect(found).toMatchObject({ code, out: '' })
  expect(found.err).toContain(why)
})

test('the examples in docs/usage.md work', async () => {
  const examples = docPage('usage.md').commands
  expect(examples.length).toBeGreaterThan(2)
  for (const { line, argv } of examples) expect([line, (await gwctl(...argv)).code]).toEqual([line, 0])
})
