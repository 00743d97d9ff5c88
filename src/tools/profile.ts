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

/** Parsed from `-o`; stdout without a path. */
interface ProfileOutput {
  readonly format: Format
  readonly path?: string
}

/** ms that a gateway may take to assemble a profile after recording. */
const WRITING = 30_000

/**
 * The output of the profile: by default a file named after the time. Throws a Failure before anything is recorded if it
 * is not writable.
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
    throw new Failure('usage', `a ${kind} profile cannot be shown in a terminal.`, {
      help: `Name a file, -o ${format}=PATH, or pass it on: gwctl profile ${kind} -o ${format}=- | …`,
    })
  }
  const path = output?.path ?? `gwctl-${kind}-${timeNow()}.${format === 'timeline' ? 'json' : 'pb.gz'}`
  await checkWritable(path, cwd)
  return { format, path }
}

/** Records a profile. Throws a Failure. */
export async function recordProfile(admin: AdminServer, { kind, seconds }: ProfileWanted): Promise<Buffer> {
  const path = `debug/pprof/${kind === 'cpu' ? 'profile' : 'heap'}?seconds=${seconds}`
  const patience = { ms: seconds * 1000 + (admin.patience ?? WRITING), clock: systemClock }
  const reply = await getBytes(admin, path, { patience })
  // Another program on that port may answer 200 to anything.
  if (reply[0] === 0x1f && reply[1] === 0x8b) return reply
  throw new Failure('unreachable', `${admin.name} answered with something else than a profile.`, {
    help: 'Is that the admin address of a gateway?',
  })
}

/** The part of a pprof profile that shows whether it has samples. */
const PROFILE = message({ samples: repeated(2, bytes) })

/** Whether the profile has samples. Unreadable profiles are passed on. */
export function hasSamples(profile: Buffer): boolean {
  try {
    return PROFILE.decode(gunzipSync(profile)).samples.length > 0
  } catch {
    return true
  }
}

/**
 * Watches all requests for this long, up to 1000. Returns a timeline; `broken`: why it is incomplete if the gateway
 * went away. Throws a Failure.
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

/** An empty profile is not written, so that nobody searches it. */
export function nothingIn(seconds: number, why: string): Failure {
  return new Failure('timeout', `${why} within ${seconds}s, so there is nothing to write.`, {
    help: 'Send requests meanwhile, or record longer with --seconds.',
  })
}

function timeNow(): string {
  return new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
}

/** Minutes of recording must not fail on a missing folder. */
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
