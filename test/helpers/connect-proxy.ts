import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

/** A proxy that opens tunnels (CONNECT), all of them to one port of this machine, and keeps what was asked for. */
export async function startConnectProxy(to: number) {
  const tunnels: string[] = []
  const proxy = createServer().on('connect', (req, socket, head) => {
    tunnels.push(req.url!)
    const up = connect(to, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      up.write(head)
      up.pipe(socket)
      socket.pipe(up)
    })
    up.on('error', () => socket.destroy())
    socket.on('error', () => up.destroy())
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    tunnels,
    [Symbol.dispose]: () => void proxy.close(),
  }
}
