import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Until the gateway has answered, or has nothing left to do. */
export async function exchange(port: number, bytes: Buffer, pid: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  let heard = false
  let closed = false
  socket
    .on('error', () => {})
    .on('data', () => {
      heard = true
    })
  socket.once('close', () => {
    closed = true
  })
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
  socket.write(bytes)
  const until = Date.now() + 5000
  while (!closed && Date.now() < until) {
    await pause(heard ? 2 : 5)
    if (sent(socket) && isIdle(pid) && (heard || !socket.readable || (await staysIdle(pid)))) break
  }
  socket.destroy()
  await settled(pid)
}

function sent(socket: Socket): boolean {
  return socket.writableLength === 0
}

async function staysIdle(pid: number): Promise<boolean> {
  for (let i = 0; i < 4; i++) {
    await pause(4)
    if (!isIdle(pid)) return false
  }
  return true
}

export async function settled(pid: number): Promise<void> {
  for (let i = 0; i < 500 && !isIdle(pid); i++) await pause(2)
}

/** No thread runs or could. */
function isIdle(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every(task => {
    try {
      return / [SI] /.test(readFileSync(`/proc/${pid}/task/${task}/stat`, 'latin1').replace(/^.*\)/, ''))
    } catch {
      return true
    }
  })
}

/** ns of all threads. */
export function processorTime(pid: number): number {
  let all = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      all += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0])
    } catch {
      // It has ended meanwhile.
    }
  }
  return all
}
