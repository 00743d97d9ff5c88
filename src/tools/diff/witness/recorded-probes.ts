import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Failure } from '../../../diagnostics/failure.ts'
import type { DryRequest } from '../../dry-run/dry-run.ts'
import { type InputPlace, readInput } from '../../input-files.ts'
import { recordedRequest } from '../../trace/recorded-request.ts'
import { recordedRequests, type Unreadable } from '../../trace/recorded-requests.ts'
import { savedRecording } from '../../trace/recording.ts'
import { askedBy, type Probe } from './probe.ts'

/** Requests that were recorded: events of `gwctl trace --raw`, or a HAR document. Throws a Failure `input`. */
export async function* recordedProbes(file: string, place: InputPlace, unreadable: Unreadable): AsyncGenerator<Probe> {
  if (await isHar(file, place.cwd)) {
    for (const request of harRequests(file, (await readInput(file, place)).text)) yield probeOf(request)
    return
  }
  for await (const trace of recordedRequests(savedRecording(file, place), unreadable)) {
    const { upstreamStatus, redacted, ...request } = recordedRequest(trace)
    const hidden = redacted.map(name => [name, REDACTED] as const)
    const probe = probeOf({ ...request, headers: [...request.headers, ...hidden] })
    yield upstreamStatus === undefined ? probe : { ...probe, upstream: { status: upstreamStatus } }
  }
}

const REDACTED = '<redacted>'

/** A recording holds no credentials: what stands in for a token is one that is accepted. */
function probeOf(request: DryRequest): Probe {
  const kept = request.headers.filter(([, value]) => value !== REDACTED)
  const probe: Probe = { request: { ...request, headers: kept }, words: [], calls: 1 }
  const lacking = request.headers.some(([name, value]) => /^authorization$/i.test(name) && value === REDACTED)
  return lacking ? askedBy(probe, { claims: {} }) : probe
}

/** Told by how it begins: recordings may be long. */
async function isHar(path: string, cwd: string): Promise<boolean> {
  if (path === '-') return false
  const file = await open(resolve(cwd, path)).catch(() => undefined)
  if (!file) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0)
    return /^\s*\{\s*"log"\s*:/.test(buffer.toString('utf8', 0, bytesRead))
  } catch {
    // Reading it as a recording says why.
    return false
  } finally {
    await file.close()
  }
}

interface HarRequest {
  readonly method: string
  readonly url: string
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
  readonly postData?: { readonly text?: string; readonly comment?: string }
}

function harRequests(file: string, text: string): DryRequest[] {
  let entries: unknown
  try {
    entries = (JSON.parse(text) as { readonly log: { readonly entries: unknown } }).log.entries
  } catch (error) {
    throw new Failure('input', `${file} is no valid HAR document: ${(error as Error).message}.`, { cause: error })
  }
  const list = Array.isArray(entries) ? entries.map(each => (each as { readonly request?: HarRequest }).request) : []
  return list.flatMap(request => {
    if (request === undefined || !URL.canParse(request.url)) return []
    const { method, url, headers = [], postData } = request
    const fields = headers.map(({ name, value }) => [name, value] as const)
    const body = postData?.text
    return {
      method,
      url,
      // The length follows from the body, and the connection is another one.
      headers: fields.filter(([name]) => !/^(:.*|content-length|connection)$/i.test(name)),
      ...(body ? { body: Buffer.from(body, postData.comment === 'base64' ? 'base64' : 'utf8') } : {}),
    }
  })
}
