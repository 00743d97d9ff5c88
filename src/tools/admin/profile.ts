import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Failure } from '../../diagnostics/failure.ts'
import { getBytes } from '../admin-client.ts'

export interface ProfileWanted {
  readonly kind: 'cpu' | 'heap'
  readonly seconds: number
  /** A name with the time in it when unset. */
  readonly path: string | undefined
}

/** Has a profile recorded and writes it; returns the file's name. Throws a Failure. */
export async function recordProfile(admin: URL, wanted: ProfileWanted, cwd: string): Promise<string> {
  const { kind, seconds } = wanted
  const bytes = await getBytes(admin, `debug/pprof/${kind === 'cpu' ? 'profile' : 'heap'}?seconds=${seconds}`)
  // A gateway that is another program may answer 200 to anything.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) {
    throw new Failure('unreachable', `${admin.host} answered with something else than a profile.`, {
      help: 'Is that the admin address of a gateway?',
    })
  }
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  const path = wanted.path ?? `gwctl-${kind}-${time}.pb.gz`
  await writeFile(resolve(cwd, path), bytes).catch((error: NodeJS.ErrnoException) => {
    throw new Failure('input', `cannot write ${path}: ${error.message}.`, { cause: error })
  })
  return path
}
