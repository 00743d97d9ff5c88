import * as Flags from '@oclif/core/flags'
import { ROUTE_FORMATS } from '../tools/route/render.ts'
import { outputFlag } from './flags.ts'
import { requestFlags } from './request-flags.ts'

/** All flags of `route`. */
export const routeFlags = {
  file: Flags.string({
    char: 'f',
    helpValue: 'PATH',
    summary: 'The configuration: a file, a directory of resources, or - for stdin.',
  }),
  ...requestFlags,
  seed: Flags.integer({
    helpValue: 'N',
    default: 1,
    summary: 'Seed of random choices: another one may choose differently.',
  }),
  stub: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'BACKEND=STATUS[:FILE]',
    summary: 'Response of a backend, by name or address; BACKEND=down: none. * is every backend. Repeatable.',
  }),
  expect: Flags.integer({
    min: 100,
    max: 599,
    helpValue: 'STATUS',
    summary: 'Exit 0 for this status only, 1 for any other.',
  }),
  'all-routes': Flags.boolean({ summary: 'Show every route that was not chosen, not only the nearest.' }),
  output: outputFlag(ROUTE_FORMATS)({ default: { format: 'text' } }),
}
