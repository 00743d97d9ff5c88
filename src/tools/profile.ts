import { access, constants, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { cannotWrite, Failure } from '../diagnostics/failure.ts'
import { systemClock } from '../engine/clock.ts'
import { bytes, message, repeated } from '../protobuf/message.ts'
import { type AdminServer, getBytes } from './admin/admin-client.ts'
import { unreadableNote } from './events/recorded-requests.ts'
import { liveRecording, traceRequest } from './events/recording.ts'
import { timelineDocument } from './events/timeline.ts'

export interface ProfileWanted {
  readonly kind: 'cpu' | 'heap'
  readonly seconds: number
}

type Format = 'pprof' | 'timeline'

/** As `-o` is read; without a path, stdout. */
interface ProfileOutput {
  readonly format: Format
  readonly path?: string
}

/** ms that a gateway may take to put a profile together when its time is up. */
const WRITING = 30_000

/**
 * Where the profile goes: what nobody has named is a file whose name has the time in it. Throws a Failure, before
 * anything is recorded, when it cannot go there.
 */
export async function outputFor(
  kind: 'cpu' | 'heap' | 'trace',
  output: ProfileOutput | undefined,
  { cwd, stdout }: { readonly cwd: string; readonly stdout: { readonly isTTY?: boolean | undefined } },
): Promise<ProfileOutput> {
  const format: Format = kind === 'trace' ? 'timeline' : 'pprof'
  if (output !== undefined && output.format !== format) {
    throw new Failure('usage', `a ${kind} profile is no ${output.format}.`, { help: `Use -o ${format}=PATH.` })
  }
  if (output !== undefined && output.path === undefined) {
    if (format === 'timeline' || stdout.isTTY !== true) return output
    throw new Failure('usage', `a ${kind} profile is nothing for a terminal to show.`, {
      help: `Name a file, -o ${format}=PATH, or pass it on: gwctl profile ${kind} -o ${format}=- | …`,
    })
  }
  const path = output?.path ?? `gwctl-${kind}-${timeNow()}.${format === 'timeline' ? 'json' : 'pb.gz'}`
  await checkWritable(path, cwd)
  return { format, path }
}

/** Has a profile recorded. Throws a Failure. */
export async function recordProfile(admin: AdminServer, { kind, seconds }: ProfileWanted): Promise<Buffer> {
  const path = `debug/pprof/${kind === 'cpu' ? 'profile' : 'heap'}?seconds=${seconds}`
  const patience = { ms: seconds * 1000 + (admin.patience ?? WRITING), clock: systemClock }
  const reply = await getBytes(admin, path, { patience })
  // A gateway that is another program may answer 200 to anything.
  if (reply[0] === 0x1f && reply[1] === 0x8b) return reply
  throw new Failure('unreachable', `${admin.name} answered with something else than a profile.`, {
    help: 'Is that the admin address of a gateway?',
  })
}

/** Of a pprof profile, as far as it says whether something was seen. */
const PROFILE = message({ samples: repeated(2, bytes) })

/** Whether there is something to look at; what cannot be read is for whoever reads it. */
export function hasSamples(profile: Buffer): boolean {
  try {
    return PROFILE.decode(gunzipSync(profile)).samples.length > 0
  } catch {
    return true
  }
}

/**
 * Watches all requests for so long; at most 1000 of them. The text is a timeline of what they did; `broken`: why it does
 * not hold all of them, where the gateway went away. Throws a Failure.
 */
export async function recordTimeline(
  admin: AdminServer,
  seconds: number,
  note: (text: string) => void,
): Promise<{ readonly text: string; readonly requests: number; readonly broken?: unknown }> {
  const request = traceRequest({ follow: true, for: seconds * 1000 }, false)
  const recording = await liveRecording(admin, request, { lasting: false })
  return timelineDocument(recording, text => note(unreadableNote(text)))
}

/** For a profile that would be empty: it is not written, so that nobody looks for what is not in it. */
export function nothingIn(seconds: number, why: string): Failure {
  return new Failure('timeout', `${why} within ${seconds}s, so there is nothing to write.`, {
    help: 'Send requests meanwhile, or record longer with --seconds.',
  })
}

function timeNow(): string {
  return new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
}

/** Minutes of recording are not to end in a folder that is not there. */
async function checkWritable(path: string, cwd: string): Promise<void> {
  const full = resolve(cwd, path)
  try {
    const found = await stat(full).catch(() => undefined)
    if (found?.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' })
    await access(found === undefined ? dirname(full) : full, constants.W_OK)
  } catch (error) {
    throw cannotWrite(path, Object.assign(error as Error, { path: full }))
  }
}
