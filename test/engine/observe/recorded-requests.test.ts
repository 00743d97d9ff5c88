import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { startOpenAiServer } from '../../helpers/openai-server.ts'
import { ManualClock } from '../manual-clock.ts'
import { until } from './until.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-requests-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const config = (url: string, file: string, more = '') => `
config:
  database: {url: 'sqlite://${file}?mode=rwc'}
  standardAttributes: {user: 'request.headers["x-user"]', group: 'request.headers["x-group"]'}
  modelCatalog:
  - inline: {providers: {openai: {models: {gpt-4o: {rates: {input: '2.5', output: '10'}}}}}}
frontendPolicies:
  accessLog: {database: {add: {team: 'request.headers["x-team"]'}}${more}}
llm:
  port: 3000
  models: [{name: '*', provider: openAI, params: {baseUrl: '${url}/v1', apiKey: sk-never-kept}}]
`

function ask(gateway: TestGateway, body: string) {
  const headers = {
    'content-type': 'application/json',
    'x-user': 'ann',
    'x-team': 'red',
    'user-agent': 'claude-cli/1.0.2 (external)',
  }
  return fetch(`${gateway.url(3000)}/v1/chat/completions`, { method: 'POST', headers, body }).then(r => r.text())
}

function rowsOf(file: string): Record<string, unknown>[] {
  const database = new DatabaseSync(file, { readOnly: true })
  const rows = database.prepare('SELECT * FROM request_logs ORDER BY started_at, rowid').all()
  database.close()
  return rows
}

const CHAT = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'keep this to yourself' }] })

test('records tokens, cost and user of LLM requests, but none of their content', async () => {
  const file = join(folder, 'requests.db')
  await using server = await startOpenAiServer()
  {
    await using gateway = await startGateway(config(server.url, file))
    await ask(gateway, CHAT)
    await ask(gateway, '{bad')
  }
  const [row, bad] = rowsOf(file)
  expect(row).toMatchObject({
    http_status: 200,
    error: null,
    gen_ai_operation_name: 'chat',
    gen_ai_provider_name: 'openai',
    gen_ai_request_model: 'gpt-4o',
    agentgateway_user: 'ann',
    agentgateway_group: null,
    user_agent_name: 'claude-cli',
  })
  const { input_tokens: input, output_tokens: output } = row as { input_tokens: number; output_tokens: number }
  expect(row!.cost).toBeCloseTo((input * 2.5 + output * 10) / 1e6, 12)
  expect(JSON.parse(String(row!.attributes_json))).toMatchObject({
    'http.path': '/v1/chat/completions',
    'agentgateway.user': 'ann',
    team: 'red',
  })
  expect(bad).toMatchObject({ http_status: 400, gen_ai_request_model: null, total_tokens: null })
  expect(JSON.stringify([row, bad])).not.toMatch(/keep this|sk-never/)
})

test('the access log filter selects the recorded requests', async () => {
  const file = join(folder, 'requests.db')
  await using server = await startOpenAiServer()
  {
    await using gateway = await startGateway(config(server.url, file, ", filter: 'response.code >= 400'"))
    await ask(gateway, CHAT)
    await ask(gateway, '{bad')
  }
  expect(rowsOf(file).map(row => row.http_status)).toEqual([400])
})

test('rows wait while another process locks the database, then are written', async () => {
  const file = join(folder, 'requests.db')
  const clock = new ManualClock()
  await using server = await startOpenAiServer()
  await using gateway = await startGateway(config(server.url, file), { clock })
  await until(() => tables(file).includes('request_logs'))
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  await ask(gateway, CHAT)
  clock.advance(1000)
  expect(gateway.logged.join('')).toContain('cannot be written')
  expect(rowsOf(file)).toEqual([])
  other.exec('ROLLBACK')
  other.close()
  clock.advance(1000)
  expect(rowsOf(file)).toHaveLength(1)
})

test('an unopenable database loses rows, is logged and counted, but fails no request', async () => {
  await using server = await startOpenAiServer()
  const gateway = await startGateway(config(server.url, join(folder, 'missing', 'requests.db')))
  expect(await ask(gateway, CHAT)).toContain('choices')
  await gateway[Symbol.asyncDispose]()
  expect(gateway.logged.join('')).toContain('cannot be opened')
  const [, lost] = /telemetry_lost_total\{signal="requests"\} (\d+)/.exec(gateway.gateway.metrics.render()) ?? []
  expect(lost).toBe('1')
})

function tables(file: string): unknown[] {
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    const found = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
    database.close()
    return found.map(({ name }) => name)
  } catch {
    return []
  }
}
