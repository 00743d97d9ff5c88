import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openDryGateway, type Stub } from '../../../src/tools/dry-run/dry-run.ts'
import { TestClient } from '../../../src/tools/test-file/client.ts'

async function severities(stub: Stub) {
  const config = 'mcp:\n  port: 3000\n  targets: [{name: time, stdio: {cmd: none}}]\n'
  const stubs = new Map([['time', stub]])
  const gateway = await openDryGateway('-', { cwd: '/', stdin: Readable.from([config]), env: {}, stubs })
  const { events } = await new TestClient(gateway).send({ mcp: 'initialize' })
  return events.flatMap(({ message, severity }) =>
    message.type === 'callEnd' && message.target === 'time' ? severity : [],
  )
}

test('a call without a status, such as a stdio call, fails only if it reports an error', async () => {
  expect(await severities({})).toEqual(['success'])
  expect(await severities({ unreachable: true })).toEqual(['error'])
})
