import type { Downstream } from '../../src/engine/downstream.ts'
import type { ChunkSink } from '../../src/http/transport.ts'

export interface MemoryDownstream extends Downstream {
  readonly status: number | undefined
  header(name: string): string | undefined
  text(): string
}

/** A client's end that keeps what it is sent. */
export function memoryDownstream(): MemoryDownstream {
  const chunks: Buffer[] = []
  let status: number | undefined
  let headers: readonly string[] = []
  let state: Downstream['state'] = 'waiting'
  const sink: ChunkSink = {
    write: chunk => {
      chunks.push(chunk)
      return true
    },
    end: () => {
      state = 'ended'
    },
    fail: () => {
      state = 'ended'
    },
    onDrain: () => {},
  }
  return {
    get state() {
      return state
    },
    get status() {
      return status
    },
    header(name) {
      const at = headers.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === name)
      return at < 0 ? undefined : headers[at + 1]
    },
    text: () => Buffer.concat(chunks).toString(),
    reply(code, fields, body) {
      status = code
      headers = fields
      if (body !== undefined) chunks.push(Buffer.from(body))
      state = 'ended'
    },
    start(code, fields) {
      status = code
      headers = fields
      state = 'streaming'
      return sink
    },
    upgrade: () => {
      state = 'ended'
    },
    cut: () => {
      state = 'ended'
    },
  }
}
