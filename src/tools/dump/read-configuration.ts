import { dumpOf } from '../../config/dump.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { plainPaint } from '../../diagnostics/paint.ts'
import { renderConcise } from '../../diagnostics/render/concise.ts'
import { reportOf } from '../check/check.ts'
import type { Dump } from '../config-dump/read.ts'
import { loadDryGateway } from '../dry-run/dry-run.ts'
import { type InputPlace, nameOf } from '../input/input-files.ts'
import { readServed } from '../input/served-input.ts'

interface ConfigurationPlace extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * What `gwctl run` would load from a file, a directory of resources or stdin, as the admin server would report it.
 * Starts nothing; variables may be unset. Throws a Failure `input` with the mistakes of the configuration.
 */
export async function readConfiguration(path: string, place: ConfigurationPlace, version: string): Promise<Dump> {
  const texts = await readServed(path, place)
  const { cwd, env } = place
  const { loaded } = await loadDryGateway(texts, { cwd, env })
  const errors = loaded.diagnostics.filter(({ severity }) => severity === 'error')
  if (loaded.snapshot && errors.length === 0) return dumpOf(loaded.snapshot, version)
  const report = await reportOf(texts, { ...loaded, diagnostics: errors }, cwd)
  throw new Failure('input', `${nameOf(path)} cannot be loaded:`, {
    help: renderConcise(report, { paint: plainPaint, maxProblems: 20 }).trimEnd(),
  })
}
