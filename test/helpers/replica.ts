import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { serve } from '../../src/tools/serve/serve.ts'
import type { RunningGateway } from '../../src/tools/serve/serving.ts'
import { ownPort } from './own-port.ts'

export interface TestReplica extends AsyncDisposable {
  readonly serving: RunningGateway
  /** Codes of what was wrong with a configuration that was refused. */
  readonly refused: string[]
  write(config: string): void
  port(configured: number): number
  admin(path: string, method?: 'GET' | 'POST'): Promise<{ status: number; body: string }>
  metrics(): Promise<string>
  /** Resolves when a log line has these words; also one that was written before. */
  says(words: string): Promise<void>
  /** The lines with these words among all that were logged until now, by whichever thread. */
  said(words: string): Promise<readonly string[]>
}

const SETTINGS = `config: {adminAddr: '127.0.0.1:0', statsAddr: '127.0.0.1:0', readinessAddr: 'off'}\n`

/** `gwctl run` with several workers, in this process; each configured port on a free one. */
export async function startReplica(
  config: string,
  workers: number,
  options: { readonly portFor?: (port: number) => number | undefined } = {},
): Promise<TestReplica> {
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-replica-'))
  const remove = () => rmSync(folder, { recursive: true })
  const write = (text: string) => writeFileSync(join(folder, 'gateway.yaml'), SETTINGS + text)
  const logged: string[] = []
  const refused: string[] = []
  const listeners = new Set<() => void>()
  write(config)
  // The leader tries a port, closes it, and the workers open it a while later.
  const free = [await ownPort(), await ownPort(), await ownPort()]
  const serving = await serve({
    file: 'gateway.yaml',
    cwd: folder,
    env: {},
    stdin: process.stdin,
    log: {
      write(text) {
        logged.push(...text.split('\n').filter(line => line !== ''))
        for (const listener of listeners) listener()
      },
    },
    version: 'test',
    watch: false,
    workers,
    portFor: configured => options.portFor?.(configured) ?? (free.shift() as number),
    refused: report => refused.push(...report.diagnostics.map(d => d.code)),
  }).catch((error: unknown) => {
    remove()
    throw error
  })
  if (serving === undefined) {
    remove()
    throw new Error(`refused: ${refused.join(', ')}`)
  }
  const admin: TestReplica['admin'] = async (path, method = 'GET') => {
    const [host, port] = serving.admin.split(':')
    const { status, body } = await ask({ host, port, path, method })
    return { status, body }
  }
  return {
    serving,
    refused,
    write,
    admin,
    port: configured => serving.ports.get(configured) as number,
    async metrics() {
      const [host, port] = serving.stats.split(':')
      return (await ask({ host, port, path: '/metrics' })).body
    },
    says(words) {
      return new Promise(resolve => {
        const look = () => {
          if (!logged.some(line => line.includes(words))) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
      })
    },
    async said(words) {
      // Before a worker answers anything, it hands over what it has logged.
      await admin('/debug/tasks')
      return logged.filter(line => line.includes(words))
    },
    async [Symbol.asyncDispose]() {
      await serving.stop()
      remove()
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Rejects when the connection breaks. */
export function ask(options: RequestOptions, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', agent: false, ...options }, response => {
      readAll(response).then(
        text => resolve({ status: response.statusCode as number, headers: response.headers, body: text }),
        reject,
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
