import type { DumpDocument } from '../../config/dump.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { validate } from '../../generated/validators/config-dump.js'
import { publicDump } from './public-dump.ts'
import type { Dump } from './read.ts'

export type { DumpDocument } from '../../config/dump.ts'
export type DumpRoute = DumpDocument['routes'][number]
export type DumpPolicies = DumpRoute['policies']
export type DumpBackend = DumpDocument['backends'][number]

/** The dump in our format, from this gateway or the public system. Throws a Failure `input` for any other. */
export function modelOf(dump: Dump, name: string): DumpDocument {
  const converted = publicDump(dump) ?? dump
  if (validate(converted)) return converted as unknown as DumpDocument
  const [first] = validate.errors ?? []
  const where =
    first === undefined || first.instancePath === '' ? 'it' : first.instancePath.slice(1).replaceAll('/', '.')
  throw new Failure(
    'input',
    `${name} is not a configuration dump that views can be made of: ${where} ${wordsFor(first)}.`,
    {
      help: 'Print it whole (-o yaml or -o json), or save one anew with the gwctl that reads it.',
    },
  )
}

function wordsFor(error: { readonly keyword: string; readonly params: Readonly<Record<string, unknown>> } | undefined) {
  if (error?.keyword === 'required') return `has no ${String(error.params.missingProperty)}`
  if (error?.keyword === 'type') return `is no ${String(error.params.type)}`
  return 'has an unexpected form'
}
