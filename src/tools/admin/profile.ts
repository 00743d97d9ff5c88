import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { cannotWrite, Failure } from '../../diagnostics/failure.ts'
import { systemClock } from '../../engine/clock.ts'
import { type AdminServer, getBytes } from '../admin-client.ts'
import { unreadableNote } from '../trace/recorded-requests.ts'
import { liveRecording, traceRequest } from '../trace/recording.ts'
import { timelineDocument } from '../trace/timeline.ts'

export interface ProfileWanted {
  readonly kind: 'cpu' | 'heap'
  readonly seconds: number
  /** A name with the time in it when unset. */
  readonly path: string | undefined
}

/** ms that a gateway may take to put a profile together when its time is up. */
const WRITING = 30_000

type Format = 'pprof' | 'timeline'

/** Where the profile goes. Throws a Failure `usage` when that kind is not written so. */
export function outputFor(
  kind: 'cpu' | 'heap' | 'trace',
  output: { readonly format: Format; readonly path?: string } | undefined,
): { readonly path: string | undefined } {
  const format: Format = kind === 'trace' ? 'timeline' : 'pprof'
  if (output !== undefined && output.format !== format) {
    throw new Failure('usage', `a ${kind} profile is no ${output.format}.`, { help: `Use -o ${format}=PATH.` })
  }
  return { path: output?.path }
}

/** Has a profile recorded and writes it; returns the file's name. Throws a Failure. */
export async function recordProfile(admin: AdminServer, wanted: ProfileWanted, cwd: string): Promise<string> {
  const { kind, seconds } = wanted
  const path = `debug/pprof/${kind === 'cpu' ? 'profile' : 'heap'}?seconds=${seconds}`
  const patience = { ms: seconds * 1000 + (admin.patience ?? WRITING), clock: systemClock }
  const bytes = await getBytes(admin, path, { patience })
  // A gateway that is another program may answer 200 to anything.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) {
    throw new Failure('unreachable', `${admin.name} answered with something else than a profile.`, {
      help: 'Is that the admin address of a gateway?',
    })
  }
  return write(bytes, wanted.path ?? `gwctl-${kind}-${timeNow()}.pb.gz`, cwd)
}

/**
 * Watches all requests for so long and writes what they did as a timeline; at most 1000 of them. Throws a Failure, also
 * after writing what came where the gateway went away.
 */
export async function recordTimeline(
  admin: AdminServer,
  { seconds, path }: Omit<ProfileWanted, 'kind'>,
  cwd: string,
  note: (text: string) => void,
): Promise<{ readonly path: string; readonly requests: number }> {
  const recording = await liveRecording(admin, traceRequest({ follow: true, for: seconds * 1000 }, false), {
    lasting: false,
  })
  const { text, requests, broken } = await timelineDocument(recording, text => note(unreadableNote(text)))
  const written = await write(text, path ?? `gwctl-trace-${timeNow()}.json`, cwd)
  if (broken !== undefined) throw broken
  return { path: written, requests }
}

function timeNow(): string {
  return new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
}

async function write(content: string | Uint8Array, path: string, cwd: string): Promise<string> {
  await writeFile(resolve(cwd, path), content).catch(error => {
    throw cannotWrite(path, error)
  })
  return path
}
