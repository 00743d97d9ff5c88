import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const OURS = /^gwctl-(\d+)-\w{6}$/
const SOCKET = /^worker-\d+\.sock$/

/** Creates a directory for the worker sockets of this process, accessible only to this user. */
export function createSocketFolder(parent = tmpdir()): string {
  return mkdtempSync(join(parent, `gwctl-${process.pid}-`))
}

/**
 * Removes the directories of killed processes. Those of other users, or with other content, stay; so do those where a
 * socket still answers, since a process in another container may share the directory.
 */
export async function removeStaleFolders(parent = tmpdir()): Promise<void> {
  for (const name of namesIn(parent)) {
    const pid = OURS.exec(name)?.[1]
    const path = join(parent, name)
    if (pid === undefined || isAlive(Number(pid)) || !isOwnFolder(path)) continue
    const names = namesIn(path)
    if (!names.every(each => SOCKET.test(each))) continue
    const answers = await Promise.all(names.map(each => isServed(join(path, each))))
    if (answers.includes(true)) continue
    rmSync(path, { recursive: true, force: true })
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function isOwnFolder(path: string): boolean {
  try {
    const found = lstatSync(path)
    return found.isDirectory() && found.uid === process.getuid?.()
  } catch {
    return false
  }
}

function isServed(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'))
  })
}
