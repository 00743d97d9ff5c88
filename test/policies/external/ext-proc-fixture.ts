import { get, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Plain, type ProcessCall, startEnvoyServices } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'

export type Answer = (request: Plain, call: ProcessCall) => void
type Handler = (req: IncomingMessage, res: ServerResponse) => void

/** Lets everything pass, in whichever mode. */
const KINDS = [
  'requestHeaders',
  'responseHeaders',
  'requestBody',
  'responseBody',
  'requestTrailers',
  'responseTrailers',
] as const
export const streamed = ({ body, endOfStream }: Plain, by = (text: string) => text) => ({
  response: { bodyMutation: { streamedResponse: { body: Buffer.from(by(String(body ?? ''))), endOfStream } } },
})
export function pass(request: Plain, call: ProcessCall): void {
  for (const kind of KINDS) {
    const part = request[kind]
    if (part) call.write({ [kind]: kind.endsWith('Body') ? streamed(part) : {} })
  }
}

export const NONE = 'requestBodyMode: none, responseBodyMode: none'

export async function start(answer: Answer, modes = NONE, spec = '', more = '', handler: Handler = echo, options = {}) {
  const service = await startEnvoyServices({ process: answer })
  const backend = await startUpstream(handler)
  const gateway = await startGateway(
    `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  extProc: {host: '${service.host}', processingOptions: {${modes}}${spec && `, ${spec}`}}${more && `, ${more}`}}}]}]}]`,
    options,
  )
  const url = gateway.url(8080)
  return {
    service,
    /** The kinds of the messages that the service got. */
    kinds: () => service.asked.map(each => KINDS.find(kind => each[kind])),
    /** Body and trailers, which fetch does not show. */
    raw: () =>
      new Promise<{ body: string; trailers: NodeJS.Dict<string> }>((resolve, reject) => {
        const request = get(url, { headers: { te: 'trailers' } }, async response => {
          let body = ''
          for await (const chunk of response) body += chunk
          resolve({ body, trailers: response.trailers })
        })
        request.on('error', reject)
      }),
    fetch: (path = '/', init: RequestInit = {}) => fetch(`${url}${path}`, init),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await backend[Symbol.asyncDispose]()
    },
  }
}

export async function echoed(response: Response) {
  const { url, method, headers, body } = (await response.json()) as Record<string, string> & { headers: string[] }
  return { url, method, body, of: (name: string) => headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === name) }
}
export const post = (body: string) => ({ method: 'POST', body })
export const set = (key: string, value: string, more: object = {}) => ({
  header: { key, rawValue: Buffer.from(value) },
  ...more,
})
