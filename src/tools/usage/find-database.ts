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
  if (file !== undefined) return resolve(cwd, file)
  const name = visible(nameOf(path))
  if (loaded.snapshot === undefined)
    throw new Failure('input', `${name} cannot be loaded.`, { help: 'gwctl validate says what is wrong with it.' })
  throw new Failure('input', `${name} names no request database.`, {
    help: 'Set `config: {database: {url: "sqlite://./requests.db"}}`, or name the database itself.',
  })
}
