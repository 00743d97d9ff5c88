import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { cannotWrite } from '../../diagnostics/failure.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import type { CurlRequest } from '../curl/curl-request.ts'
import { shellWords } from '../curl/shell-words.ts'
import { openDryGateway } from '../dry-run/dry-run.ts'
import { EVERYTHING } from '../dry-run/stubs.ts'
import type { ReadEvent } from '../events/events.ts'
import { parseInjected, sendRequest } from '../events/inject.ts'
import { recordedRequest } from '../events/recorded-request.ts'
import { addEvents, type RequestTrace, type Step } from '../events/state.ts'
import type { InputPlace } from '../input/input-files.ts'
import { copyToClipboard } from '../terminal/clipboard.ts'
import { type Asked, shownOf } from './browse.ts'
import type { TraceSession } from './session.ts'
import { saveTestCase } from './test-case.ts'

export interface ActionPlace extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: NodeJS.WritableStream
  /** The gateway's machine, for replayed requests. Undefined to use the URL's host. */
  readonly gateway: string | undefined
}

/** A worker number for local runs; workers of a gateway count from 0. */
const HERE = 1_000_000

/** Executes key commands and reports the result at the bottom. */
export class Actions {
  readonly #session: TraceSession
  readonly #place: ActionPlace
  #runs = 0

  constructor(session: TraceSession, place: ActionPlace) {
    this.#session = session
    this.#place = place
  }

  perform(asked: Asked): void {
    const { trace, browse } = this.#session.current
    const { request, step } = shownOf(browse, trace)
    const done = this.#do(asked, request, step)
    done.then(
      said => said !== '' && this.#session.say(said),
      (error: unknown) => this.#session.say(error instanceof Error ? error.message : String(error)),
    )
  }

  async #do(asked: Asked, request: RequestTrace | undefined, step: Step | undefined): Promise<string> {
    if (asked.what === 'inject') {
      return this.#send(parseInjected(shellWords(asked.text, 'what was typed'), this.#place.cwd), 'sent')
    }
    if (request === undefined) return ''
    switch (asked.what) {
      case 'copy':
        return step === undefined ? '' : this.#copy(step)
      case 'edit':
        return step === undefined ? '' : this.#edit(step)
      case 'test':
        return this.#saveTest(request)
      case 'save':
        return this.#save(request, asked.text)
      case 'replay':
        return this.#replay(request)
      case 'rerun':
        return this.#rerun(request, asked.text)
    }
  }

  async #copy({ event }: Step): Promise<string> {
    await copyToClipboard(printYaml(asSent(event)), this.#place)
    return `event ${event.seq} copied`
  }

  async #edit({ event }: Step): Promise<string> {
    const [origin] = event.origins
    if (origin === undefined) return 'no line of the configuration is behind this step'
    if (origin.line === 0) return `${origin.file} is a resource of the cluster: kubectl edit opens it`
    const { env, cwd } = this.#place
    const [editor = 'vi', ...more] = (env.VISUAL || env.EDITOR || 'vi').split(' ')
    // Editors run arguments that begin with a plus, and a recording may name any file.
    const file = /^[-+]/.test(origin.file) ? `./${origin.file}` : origin.file
    const at = /^(code|codium|subl)$/.test(editor) ? ['-g', `${file}:${origin.line}`] : [`+${origin.line}`, file]
    let problem = ''
    await this.#session.suspend(
      () =>
        new Promise(done => {
          const child = spawn(editor, [...more, ...at], { cwd, stdio: 'inherit' })
          child.on('error', error => {
            problem = `${editor} does not start: ${startReason(error)}`
            done()
          })
          child.on('close', () => done())
        }),
    )
    return problem
  }

  async #saveTest(request: RequestTrace): Promise<string> {
    const { name, doubts } = await saveTestCase(request, this.#place.cwd)
    return doubts.length === 0 ? `saved as ${name}` : `saved ${name}, may not hold: ${doubts.join('; ')}`
  }

  async #save({ steps }: RequestTrace, file: string): Promise<string> {
    const text = steps.map(({ event }) => `${JSON.stringify(asSent(event))}\n`).join('')
    try {
      await writeFile(resolve(this.#place.cwd, file), text, { flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(file, error)
      return `${file} already exists: choose another name`
    }
    return `${steps.length} events saved as ${file}: gwctl trace -f ${file}`
  }

  async #replay(request: RequestTrace): Promise<string> {
    const { method, url, headers, body, port, redacted, sentBody } = recordedRequest(request)
    const { gateway } = this.#place
    const to = new URL(url)
    const connectTo = gateway === undefined || port === undefined ? undefined : { host: gateway, port }
    const lost = [...redacted, ...(sentBody && body === undefined ? ['its body'] : [])]
    const without = lost.length === 0 ? '' : ` without ${lost.join(', ')}: the trace does not have it`
    return this.#send(
      { method, url: to, hostless: false, headers, body, insecure: true, connectTo },
      `sent again${without}`,
    )
  }

  async #send(wanted: CurlRequest, said: string): Promise<string> {
    const status = await sendRequest(wanted)
    return `${said}: ${status}`
  }

  /** Runs the request on another configuration and shows it beside the recorded one. */
  async #rerun(request: RequestTrace, file: string): Promise<string> {
    const recorded = recordedRequest(request)
    const stubs = new Map([[EVERYTHING, { status: recorded.upstreamStatus ?? 200 }]])
    const gateway = await openDryGateway(file, { ...this.#place, stubs })
    const events = fromArrival((await gateway.run(recorded)).events)
    const worker = HERE + ++this.#runs
    const named = events.map(event => {
      const message =
        event.message.type === 'requestStarted' ? { ...event.message, source: `a dry run of ${file}` } : event.message
      return { ...event, request: `${request.id}'`, worker, stream: request.stream, message }
    })
    for (const event of named) this.#session.add(event)
    const [run] = addEvents({ requests: [], forgotten: 0 }, named).requests
    if (run !== undefined) this.#session.compare(request.key, run.key)
    return ''
  }
}

/** Drops the events of the connection, which a gateway's trace lacks, unless it ended there. */
function fromArrival(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const arrival = events.findIndex(({ message }) => message.type === 'snapshot')
  if (!events.some(({ message }) => message.type === 'listener')) return events
  return events.filter(({ message }, i) => i >= arrival || message.type === 'requestStarted')
}

/** As the gateway wrote it. */
function asSent({ stream: _, ...event }: ReadEvent): Omit<ReadEvent, 'stream'> {
  return event
}

function startReason(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such program; $VISUAL or $EDITOR names another one'
  return code === 'EACCES' ? 'you may not run it' : error.message
}
