import { resolve } from 'node:path'
import { Failure } from '../../diagnostics/failure.ts'
import { visible } from '../../diagnostics/visible.ts'
import { startsWith } from '../../files/read-file.ts'
import { loadDryGateway } from '../dry-run/dry-run.ts'
import { type InputPlace, nameOf } from '../input/input-files.ts'
import { readServed } from '../input/served-input.ts'

interface DatabasePlace extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
}

const MAGIC = Buffer.from('SQLite format 3\0')

/** The database at `path`, or the one that the configuration there names. Throws a Failure `input`. */
export async function findDatabase(path: string, place: DatabasePlace): Promise<string> {
  const { cwd, env } = place
  if (path !== '-' && startsWith(resolve(cwd, path), MAGIC)) return resolve(cwd, path)
  const texts = await readServed(path, place)
  const { loaded } = await loadDryGateway(texts, { cwd, env })
  const file = loaded.snapshot?.telemetry.requestLog?.file
  if (file !== undefined && file !== ':memory:') return resolve(cwd, file)
  throw new Failure('input', `${visible(nameOf(path))} ${whyNone(loaded.snapshot !== undefined, file)}.`, {
    help:
      loaded.snapshot === undefined
        ? 'gwctl validate says what is wrong with it.'
        : 'Set `config: {database: {url: "sqlite://./requests.db"}}`, or name the database itself.',
  })
}

function whyNone(loads: boolean, file: string | undefined): string {
  if (!loads) return 'cannot be loaded'
  return file === undefined ? 'names no request database' : 'keeps requests in memory only'
}
