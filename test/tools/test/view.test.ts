import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openDryGateway } from '../../../src/tools/dry-run/dry-run.ts'
import { viewOf } from '../../../src/tools/test/view.ts'
import { TestClient } from '../../../src/tools/test-file/client.ts'

test('hiding a tool from a list does not count as refusing the request', async () => {
  const config = `mcp:
  port: 3000
  targets: [{name: time, mcp: {host: 'http://time.test/mcp'}}]
  policies:
    mcpAuthorization: {rules: ['mcp.tool.name == "now"']}
`
  const stubs = new Map([['time', { mcp: { tools: ['now', 'admin'] } }]])
  const gateway = await openDryGateway('-', { cwd: '/', stdin: Readable.from([config]), env: {}, stubs })
  const view = viewOf(await new TestClient(gateway).send({ mcp: 'tools/list' }))
  expect(view).toMatchObject({ mcp: { tools: ['now'] } })
  expect(view).not.toHaveProperty('authorization')
})
