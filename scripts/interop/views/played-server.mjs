// The admin server of a gateway that always does the same, in a thread of its own: top-view.mjs, which starts it, waits
// for tmux, and whoever asks must not wait with it.
import { createServer } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { PlayedGateway } from '../../../test/tools/top/played-gateway.ts'

const { plot, looks } = workerData
const gateway = new PlayedGateway(plot, Date.now() / 1000)
let before
let left = looks

const server = createServer((_request, response) => {
  const now = performance.now()
  const metrics = gateway.look(before === undefined ? 1 : (now - before) / 1000)
  before = now
  response.end(`# TYPE agentgateway_requests_total counter\n${metrics}`)
  left--
  if (left === 0) server.close()
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
