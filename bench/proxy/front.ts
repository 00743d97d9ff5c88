// A proxy with nothing but the transport in it: node:http in front, no routes, no policies. Measures src/engine/upstream.
import http from 'node:http'
import { createTransport } from '../../src/engine/upstream/transport.ts'
import { HeaderList } from '../../src/http/headers.ts'
import type { Target } from '../../src/http/transport.ts'
import type { Clock } from '../../src/runtime/runtime.ts'

const clock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  after(ms, then) {
    const timer = setTimeout(then, ms).unref()
    return { cancel: () => clearTimeout(timer) }
  },
}
const transport = createTransport({ clock })
const port = Number(process.env.UPSTREAM)
const target: Target = { key: 'upstream', host: '127.0.0.1', port, connectTimeout: 10_000, named: false }

http
  .createServer({ noDelay: true }, (request, response) => {
    const length = Number(request.headers['content-length'] ?? 0)
    if (length === 0) forward(request, response, undefined)
    else {
      const chunks: Buffer[] = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => forward(request, response, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    }
  })
  .listen(Number(process.env.PORT), '127.0.0.1', 4096)

function forward(request: http.IncomingMessage, response: http.ServerResponse, body: Buffer | undefined): void {
  const call = transport.dispatch(
    target,
    {
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      authority: request.headers.host ?? '',
      headers: new HeaderList(request.rawHeaders),
      body,
      timeout: 60_000,
    },
    {
      head(status, headers) {
        if (headers.has('date')) response.sendDate = false
        response.writeHead(status, headers.raw as string[])
        return {
          write: (chunk, release) =>
            release === undefined
              ? response.write(chunk)
              : response.write(chunk, error => {
                  if (!error) release()
                }),
          end: () => void response.end(),
          fail: () => void response.destroy(),
          onDrain: then => void response.once('drain', then),
        }
      },
      fail() {
        response.writeHead(503, ['content-length', '0'])
        response.end()
      },
    },
  )
  response.on('close', () => call.cancel())
}
