import { expect, test } from 'vitest'
import { adminServer } from '../../src/cli/admin-flags.ts'
import { memoryIo } from './memory-io.ts'

const told = { note: () => {} }

test.each([
  [{}, undefined, 'http://127.0.0.1:15000/'],
  [{}, '', 'http://127.0.0.1:15000/'],
  [{}, 'edge:9000', 'http://edge:9000/'],
  [{ admin: '10.0.0.7:15000' }, 'edge:9000', 'http://10.0.0.7:15000/'],
  [{ admin: 'https://edge/gw' }, undefined, 'https://edge/gw'],
  [{ admin: 'unix:/run/gw.sock' }, undefined, 'unix:/run/gw.sock'],
  [{ local: true }, 'edge:9000', 'http://127.0.0.1:15000/'],
])('flags %j and GWCTL_ADMIN=%s: %s', async (flags, variable, expected) => {
  const io = memoryIo(variable === undefined ? {} : { env: { GWCTL_ADMIN: variable } })
  const { url } = await adminServer({ local: false, ...flags } as Parameters<typeof adminServer>[0], io, told)
  expect(url.href).toBe(expected)
})

test.each(['', 'ftp://edge', 'http://'])('rejects --admin %j', async admin => {
  const flags = { local: false, admin } as Parameters<typeof adminServer>[0]
  await expect(adminServer(flags, memoryIo(), told)).rejects.toMatchObject({ kind: 'usage' })
})
