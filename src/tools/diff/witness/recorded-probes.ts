import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parametersOf } from '../../../auth/credential.ts'
import { CredentialPlaces } from '../../../auth/credential-places.ts'
import type { Snapshot } from '../../../config/snapshot.ts'
import { Failure } from '../../../diagnostics/failure.ts'
import { HeadSnapshots } from '../../../engine/head-snapshot.ts'
import { HeaderList } from '../../../http/headers.ts'
import type { DryRequest } from '../../dry-run/dry-run.ts'
import { isRecord } from '../../events/public-events.ts'
import { recordedRequest } from '../../events/recorded-request.ts'
import { recordedRequests, unreadableNote } from '../../events/recorded-requests.ts'
import { savedRecording } from '../../events/recording.ts'
import { type InputPlace, MAX_RECORDED, readInput } from '../../input/input-files.ts'
import { askedBy, canArrive, type Probe, type ShownRequest } from './probe.ts'

/**
 * Recorded requests: events of `gwctl trace --raw`, or a HAR document. The snapshots show where credentials may occur
 * in them, which are not displayed; `note` receives what had to be left out. Throws a Failure `input`.
 */
export async function* recordedProbes(
  file: string,
  place: InputPlace,
  snapshots: readonly Snapshot[],
  note: (text: string) => void,
): AsyncGenerator<Probe> {
  const shown = concealing(snapshots)
  let left = 0
  const probes = (await isHar(file, place.cwd)) ? harProbes(file, place) : traceProbes(file, place, note)
  for await (const probe of probes) {
    if (canArrive(probe.request)) yield { ...probe, shown: shown(probe.request) }
    else left++
  }
  if (left > 0) note(`${left} recorded ${left === 1 ? 'request was' : 'requests were'} left out: no host is known.`)
}

async function* harProbes(file: string, place: InputPlace): AsyncGenerator<Probe> {
  for (const request of harRequests(file, (await readInput(file, place, MAX_RECORDED)).text)) yield probeOf(request)
}

function concealing(snapshots: readonly Snapshot[]): (request: DryRequest) => ShownRequest {
  const places = new CredentialPlaces()
  for (const { credentials } of snapshots) places.addAll(credentials)
  const heads = new HeadSnapshots(
    places,
    snapshots.flatMap(({ settings }) => [...settings.sensitiveHeaders]),
  )
  return ({ url, headers }) => {
    const shown = places.shown(url)
    const { pairs } = parametersOf(url)
    const hidden = parametersOf(shown).pairs.flatMap((pair, i) => (pair === pairs[i] ? [] : [valueIn(pairs[i])]))
    const fields = heads.response({ status: 200, headers: new HeaderList(headers.flat()) }).headers
    return { url: shown, headers: fields, hidden: hidden.filter(value => value.length >= SHORTEST) }
  }
}

/** Characters: shorter credentials also occur in addresses and statuses, and are not worth hiding. */
const SHORTEST = 4

function valueIn(parameter = ''): string {
  return parameter.slice(parameter.indexOf('=') + 1)
}

async function* traceProbes(file: string, place: InputPlace, note: (text: string) => void): AsyncGenerator<Probe> {
  const unreadable = (text: string) => note(unreadableNote(text))
  for await (const trace of recordedRequests(savedRecording(file, place), unreadable)) {
    const { upstreamStatus, redacted, ...request } = recordedRequest(trace)
    const hidden = redacted.map(name => [name, REDACTED] as const)
    const probe = probeOf({ ...request, headers: [...request.headers, ...hidden] })
    yield upstreamStatus === undefined ? probe : { ...probe, upstream: { status: upstreamStatus } }
  }
}

const REDACTED = '<redacted>'

/** A recording contains no credentials: an accepted token stands in for a token. */
function probeOf(request: DryRequest): Probe {
  const kept = request.headers.filter(([, value]) => value !== REDACTED)
  const probe: Probe = { request: { ...request, headers: kept }, words: [], calls: 1 }
  const lacking = request.headers.some(([name, value]) => /^authorization$/i.test(name) && value === REDACTED)
  return lacking ? askedBy(probe, { claims: {} }) : probe
}

/** Detected by its beginning: recordings may be long. */
async function isHar(path: string, cwd: string): Promise<boolean> {
  if (path === '-') return false
  const file = await open(resolve(cwd, path)).catch(() => undefined)
  if (!file) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0)
    return /^\s*\{\s*"log"\s*:/.test(buffer.toString('utf8', 0, bytesRead))
  } catch {
    // Reading it as a recording reports the reason.
    return false
  } finally {
    await file.close()
  }
}

function harRequests(file: string, text: string): DryRequest[] {
  return entriesOf(file, text).flatMap(entry => {
    const request = isRecord(entry) && isRecord(entry.request) ? entry.request : {}
    const url = URL.parse(String(request.url))
    // A page also loads URLs without a network: `data:`, `blob:`.
    if (url === null || !/^https?:$/.test(url.protocol)) return []
    // These parts are not sent.
    Object.assign(url, { hash: '', username: '', password: '' })
    const fields = (Array.isArray(request.headers) ? request.headers : []).filter(isRecord)
    const { text, comment } = isRecord(request.postData) ? request.postData : {}
    return {
      method: String(request.method ?? 'GET'),
      url: url.href,
      // The length follows from the body, and the connection is a new one.
      headers: fields
        .map(({ name, value }) => [String(name), String(value)] as const)
        .filter(([name]) => !/^(:.*|content-length|connection)$/i.test(name)),
      ...(typeof text === 'string' && text !== ''
        ? { body: Buffer.from(text, comment === 'base64' ? 'base64' : 'utf8') }
        : {}),
    }
  })
}

function entriesOf(file: string, text: string): readonly unknown[] {
  const invalid = (why: string, cause?: unknown) =>
    new Failure('input', `${file} is not a valid HAR document: ${why}.`, { cause })
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw invalid((error as Error).message, error)
  }
  const log = isRecord(document) ? document.log : undefined
  if (!isRecord(log) || !Array.isArray(log.entries)) throw invalid('it has no entries')
  return log.entries
}
