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
    summary: 'For what is drawn by chance: another one may draw otherwise.',
  }),
  stub: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'BACKEND=STATUS[:FILE]',
    summary: 'What a backend answers, by name or address; BACKEND=down: nothing. * is every one. Repeatable.',
  }),
  expect: Flags.integer({
    min: 100,
    max: 599,
    helpValue: 'STATUS',
    summary: 'Exit 0 for this status only, 1 for any other.',
  }),
  'all-routes': Flags.boolean({ summary: 'Every route that was not chosen, instead of the nearest ones.' }),
  output: outputFlag(ROUTE_FORMATS)({ default: { format: 'text' } }),
}
