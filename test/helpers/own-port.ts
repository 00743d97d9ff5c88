import { createServer } from 'node:net'

// Below the ports that the system hands out for port 0 and for outgoing connections.
const FIRST = 10_000
const COUNT = 20_000
/** Test processes that run at the same time begin this far apart. */
const APART = 101

let next = process.pid * APART

/**
 * A port for what has to be named before it is opened, or is opened again. One that the system has handed out and that
 * was closed may be somebody else's the next moment.
 */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = FIRST + (next++ % COUNT)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })
}
