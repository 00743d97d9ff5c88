import { attackTable } from './attack-table.ts'
import { checkSchemas } from './check-schemas.ts'
import { crds } from './crds.ts'
import type { Generator } from './generator.ts'
import { manifest } from './manifest.ts'
import { reference } from './reference.ts'
import { savedFiles } from './saved-files.ts'
import { schemas } from './schemas.ts'
import { served } from './served.ts'
import { traceEvent } from './trace-event.ts'
import { validators } from './validators.ts'

/** In this order, since a later one may import what an earlier one has written. */
export const GENERATORS: readonly Generator[] = [
  manifest,
  schemas,
  crds,
  traceEvent,
  savedFiles,
  checkSchemas,
  reference,
  served,
  validators,
  attackTable,
]
