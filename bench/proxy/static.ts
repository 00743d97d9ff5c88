// The floor of node:http: fixed replies of the same sizes, no upstream.
import http from 'node:http'

const replies: Readonly<Record<string, Buffer>> = {
  '/small': Buffer.alloc(100, 'x'),
  '/v1/chat/completions': Buffer.alloc(2048, 'x'),
  '/big': Buffer.alloc(1 << 20, 'x'),
}

http
  .createServer({ noDelay: true }, (request, response) => {
    const reply = replies[request.url ?? ''] ?? Buffer.alloc(0)
    const answer = (): void => {
      response.writeHead(200, ['content-length', String(reply.length), 'content-type', 'text/plain'])
      response.end(reply)
    }
    if (request.method === 'GET') answer()
    else request.resume().on('end', answer)
  })
  .listen(Number(process.env.PORT), '127.0.0.1', 4096)
