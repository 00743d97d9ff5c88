import { createEventReader, type ReadEvent } from '../../../src/tools/events/events.ts'
import type { TraceEvent, TraceMessage } from '../../../src/trace/trace-event.ts'

export interface About {
  readonly request?: string
  readonly at?: number
  readonly from?: number
  readonly severity?: TraceEvent['severity']
  readonly scope?: readonly string[]
  readonly line?: number
}

/** Builds events as a gateway would send them, numbered as they are asked for. */
export class Recorder {
  #seq = 0
  readonly texts: string[] = []

  add(message: TraceMessage, about: About = {}): TraceEvent {
    this.#seq++
    const event: TraceEvent = {
      seq: this.#seq,
      at: about.at ?? this.#seq * 100,
      ...(about.from === undefined ? {} : { from: about.from }),
      severity: about.severity ?? 'info',
      request: about.request ?? 'r1',
      worker: 0,
      scope: about.scope ?? [],
      origins: about.line === undefined ? [] : [{ file: 'conf/gateway.yaml', line: about.line, col: 5 }],
      message,
    }
    this.texts.push(JSON.stringify(event))
    return event
  }

  start(request = 'r1', path = '/v1/chat', method = 'POST'): void {
    const url = `http://api.example.com${path}`
    const time = '2026-01-15T12:30:45.250Z'
    this.add({ type: 'requestStarted', method, url, source: '10.1.2.3:51000', time }, { request, at: 0 })
  }

  finish(request = 'r1', status: number | null = 200, at = 4100): void {
    const severity = status === null || status >= 400 ? 'error' : 'success'
    this.add({ type: 'requestFinished', status, bytes: 21 }, { request, severity, at })
  }

  /** A request that an authorization rule refuses after one failed attempt to reach a backend. */
  refused(request = 'r1', path = '/v1/chat'): void {
    const tried = [
      { route: 'mcp', failed: 'path prefix /mcp', origin: { file: 'conf/gateway.yaml', line: 12, col: 3 } },
    ]
    this.start(request, path)
    this.add({ type: 'listener', bind: 'bind/3000', listener: 'http' }, { request, line: 3 })
    this.add({ type: 'route', selected: 'chat', tried }, { request, line: 30, severity: 'success' })
    this.add(
      { type: 'callStart', target: 'auth:80', purpose: 'extAuthz' },
      { request, scope: ['extAuthz', 'attempt 1'] },
    )
    this.add(
      { type: 'callEnd', target: 'auth:80', status: 200 },
      { request, from: 400, at: 1650, scope: ['extAuthz', 'attempt 1'], severity: 'success' },
    )
    const rules = [
      { rule: 'jwt.sub == "alice"', mode: 'allow', matched: true },
      { rule: 'jwt.roles.exists(r, r == "contractor")', mode: 'deny', matched: true },
    ]
    this.add({ type: 'authorization', result: 'deny', rules }, { request, line: 52, severity: 'error', at: 2000 })
    this.finish(request, 403)
  }

  get events(): ReadEvent[] {
    const reader = createEventReader()
    return this.texts.map(text => reader.read(text)).filter(event => event !== undefined)
  }
}
