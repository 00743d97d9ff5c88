// `gwctl top` of a gateway that always does the same, for screens.mjs.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { PlayedGateway } from '../../test/tools/top/played-gateway.ts'

/** After so many the golden screens were drawn. */
const LOOKS = 7

export function topView(root) {
  return {
    name: 'top',
    folder: join(root, 'test/tools/top/screens'),
    sizes: [
      [80, 24],
      [40, 10],
      [200, 60],
    ],
    shows: () => true,
    // Time is real: a look that comes late may round a number to another one.
    tries: 3,
    ready: 'req/s',
    answers: ['1', '[1 Routes'],
    play: scene => playGateway(root, scene),
  }
}

async function playGateway(root, { plot = 'busy', gone, ascii }) {
  const gateway = new PlayedGateway(plot, Date.now() / 1000)
  let before
  let looks = 0
  const server = createServer((_request, response) => {
    const now = performance.now()
    response.end(gateway.look(before === undefined ? 1 : (now - before) / 1000))
    before = now
    looks++
    if (gone && looks === LOOKS) server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  const locale = ascii ? 'LC_ALL=C ' : ''
  return {
    command: `${locale}${process.execPath} ${join(root, 'bin/run.js')} top --interval 1s --admin 127.0.0.1:${port}`,
    plain: text => text.replaceAll(`127.0.0.1:${port}`, '127.0.0.1:15000'),
    stop: () => server.close(),
  }
}
