// `gwctl top` of a gateway that always does the same, for screens.mjs.
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

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
  const looks = gone ? LOOKS : Number.POSITIVE_INFINITY
  const server = new Worker(new URL('./played-server.mjs', import.meta.url), { workerData: { plot, looks } })
  const [port] = await once(server, 'message')
  const locale = ascii ? 'LC_ALL=C ' : ''
  return {
    command: `${locale}${process.execPath} ${join(root, 'bin/run.js')} top --interval 1s --admin 127.0.0.1:${port}`,
    plain: text => text.replaceAll(`127.0.0.1:${port}`, '127.0.0.1:15000'),
    stop: () => server.terminate(),
  }
}
