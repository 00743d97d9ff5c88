import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSocketFolder, removeStaleFolders } from '../../../src/engine/workers/socket-folder.ts'

test('removes only the socket folders of killed processes', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'folders-'))
  onTestFinished(() => rmSync(parent, { recursive: true }))
  // A process that leaves its sockets behind, and is no more.
  const script = `const dir = process.argv[1] + '/gwctl-' + process.pid + '-abcdef'
require('fs').mkdirSync(dir)
require('net').createServer().listen(dir + '/worker-0.sock', () => process.kill(process.pid, 'SIGKILL'))`
  const child = spawn(process.execPath, ['-e', script, parent], { stdio: 'ignore' })
  await once(child, 'close')
  const dead = child.pid
  expect(readdirSync(join(parent, `gwctl-${dead}-abcdef`))).toEqual(['worker-0.sock'])
  const own = createSocketFolder(parent)
  const answering = join(parent, `gwctl-${dead}-answer`)
  mkdirSync(answering)
  const server = createServer().listen(join(answering, 'worker-1.sock'))
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  mkdirSync(join(parent, `gwctl-${dead}-others`))
  writeFileSync(join(parent, `gwctl-${dead}-others`, 'notes.txt'), '')
  mkdirSync(join(parent, 'gwctl-report'))
  const stay = [own.slice(parent.length + 1), `gwctl-${dead}-answer`, `gwctl-${dead}-others`, 'gwctl-report']
  await removeStaleFolders(parent)
  expect(readdirSync(parent).toSorted()).toEqual(stay.toSorted())
})
