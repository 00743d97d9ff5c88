import { writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { Failure } from '../../diagnostics/failure.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { recordedRequest } from './recorded-request.ts'
import { collectRequests, type Unreadable } from './recorded-requests.ts'
import type { Recording } from './recording.ts'
import type { RequestTrace } from './state.ts'

/** What `gwctl test` runs: the part of its cases that a trace can tell. */
interface SavedCase {
  readonly name: string
  readonly request: {
    readonly method: string
    readonly url: string
    /** Of the configuration, where the URL says another one. */
    readonly port?: number
    /** By name in lower case, without credentials. */
    readonly headers?: Readonly<Record<string, readonly string[]>>
    readonly body?: string
  }
  /** What stands in for every service that is called. */
  readonly upstream?: { readonly status: number }
  readonly expect: { readonly status?: number; readonly route?: string; readonly backend?: string }
}

/** What a request was and what came of it, as the trace tells. */
function testCaseOf(trace: RequestTrace): SavedCase {
  const { method, url, path, end, steps } = trace
  const messages = steps.map(({ event }) => event.message)
  const route = messages.findLast(message => message.type === 'route')
  const backend = messages.find(message => message.type === 'backend')
  const recorded = recordedRequest(trace)
  const headers: Record<string, string[]> = {}
  for (const [name, value] of recorded.headers) {
    // The URL says it.
    if (/^host$/i.test(name)) continue
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value]
  }
  const { port, protocol } = new URL(url)
  const said = Number(port) || (protocol === 'https:' ? 443 : 80)
  const text = recorded.body && textOf(recorded.body)
  const { upstreamStatus } = recorded
  return {
    name: `${method} ${path} ${end?.status ? `answers ${end.status}` : 'gets no answer'}`,
    request: {
      method,
      url,
      ...(recorded.port === undefined || recorded.port === said ? {} : { port: recorded.port }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(text === undefined ? {} : { body: text }),
    },
    ...(upstreamStatus === undefined ? {} : { upstream: { status: upstreamStatus } }),
    expect: {
      ...(end?.status ? { status: end.status } : {}),
      ...(route?.type === 'route' && route.selected !== null ? { route: route.selected } : {}),
      ...(backend?.type === 'backend' ? { backend: backend.backend } : {}),
    },
  }
}

/** Writes the case into a new file below `cwd`; returns its name. */
export async function saveTestCase(trace: RequestTrace, cwd: string): Promise<string> {
  const words = `${trace.method} ${trace.path}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  if (!URL.canParse(trace.url)) throw new Failure('input', 'the trace does not know the URL of this request')
  const text = testText([trace], { cwd, folder: cwd })
  for (let number = 1; ; number++) {
    const name = `${words.slice(0, 60) || 'request'}${number === 1 ? '' : `-${number}`}.gwtest.yaml`
    try {
      await writeFile(resolve(cwd, name), text, { flag: 'wx' })
      return name
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/**
 * A recording as one test file, with a case for each request that has ended. Of a recording that breaks off, it holds
 * what came, and `broken` says what went wrong, also where no request has ended and `text` is empty. `path` is where the
 * file will be, for the name of the configuration in it.
 */
export async function testDocument(
  recording: Recording,
  place: { readonly cwd: string; readonly path: string | undefined },
  unreadable: Unreadable,
): Promise<{ readonly text: string; readonly broken?: unknown }> {
  const { made, ...rest } = await collectRequests(recording, unreadable, trace => trace)
  // Of those whose beginning was missed, nobody knows what to send.
  const ended = made.filter(({ end, url }) => end !== undefined && URL.canParse(url))
  if (ended.length === 0) {
    return {
      text: '',
      broken: rest.broken ?? new Failure('input', 'no request has been seen from its start to its end.'),
    }
  }
  const folder = place.path === undefined ? place.cwd : dirname(resolve(place.cwd, place.path))
  return { text: testText(ended, { cwd: place.cwd, folder }), ...rest }
}

/** `folder`: of the file that the text is for. */
function testText(traces: readonly RequestTrace[], { cwd, folder }: { readonly cwd: string; readonly folder: string }) {
  const file = traces.flatMap(({ steps }) => steps.flatMap(({ event }) => event.origins))[0]?.file
  const config = file === undefined || isAbsolute(file) ? file : relative(folder, resolve(cwd, file))
  const limited = traces.some(({ end }) => end?.status === 429)
  return `${limited ? BUDGETS : ''}${printYaml({ ...(config === undefined ? {} : { config }), cases: traces.map(testCaseOf) })}`
}

const BUDGETS =
  '# A case begins with full budgets: where it expects 429, repeat the request before (`repeat`, `steps`).\n'

function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
