import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import { Failure } from '../diagnostics/failure.ts'
import { COVERAGE_FORMATS, type CoverageFormat, TEST_FORMATS } from '../tools/test/formats.ts'
import type { TestCommand } from '../tools/test/test.ts'
import {
  fileFlag,
  jsonFlag,
  type OutputTarget,
  outputFlag,
  outputTargets,
  parseOutput,
  withOptionalValues,
} from './flags.ts'
import type { Io } from './io.ts'

const shards = Flags.custom<{ readonly index: number; readonly of: number }>({
  helpValue: 'I/N',
  parse: async text => {
    const [, index, of] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? []
    if (index !== undefined && of !== undefined && index >= 1 && index <= of) return { index, of }
    throw new Failure('usage', `${text} is not a shard. Write 1/3, 2/3 and 3/3 for three parts.`)
  },
})

const coverages = Flags.custom<OutputTarget<CoverageFormat>>({
  parse: async text => {
    if (!text.endsWith('=-')) {
      const { format, path = COVERAGE_FILES[format] }: OutputTarget<CoverageFormat> = parseOutput(
        text,
        COVERAGE_FORMATS,
      )
      return path === undefined ? { format } : { format, path }
    }
    throw new Failure('usage', `--coverage=${text}: stdout is for the report of the tests.`, {
      help: 'Name a file, or use -o json: that report includes the coverage.',
    })
  },
})

/** Default files for coverage; undefined: printed below the report. */
const COVERAGE_FILES = { text: undefined, json: 'coverage.json', lcov: 'lcov.info' } as const

/** All flags of `test`. */
export const testFlags = {
  file: fileFlag,
  config: Flags.string({
    helpValue: 'PATH',
    summary: 'The configuration to test, instead of the one named in the test file.',
  }),
  filter: Flags.string({ helpValue: 'PATTERN', summary: 'Run only cases whose names match.' }),
  update: Flags.boolean({
    summary: 'Save actual results where a case expects `{snapshot: true}`, in a file beside the tests.',
    exclusive: ['live'],
  }),
  bail: Flags.boolean({ summary: 'Stop after the first failure.' }),
  shard: shards({ summary: 'Run only the I-th of N equal parts of the cases.' }),
  coverage: coverages({
    multiple: true,
    multipleNonGreedy: true,
    helpValue: '[=text|json|lcov[=PATH]]',
    summary: 'Report coverage of the configurations; lcov and json are written to a file (lcov.info, coverage.json).',
  }),
  'fail-under': Flags.integer({
    min: 0,
    max: 100,
    helpValue: 'PERCENT',
    summary: 'Exit 1 if coverage is lower.',
  }),
  live: Flags.string({
    helpValue: 'URL',
    summary: 'Send the requests to a running gateway and compare its responses.',
    exclusive: ['config', 'coverage', 'fail-under'],
  }),
  watch: Flags.boolean({ summary: 'Run again on every change.' }),
  output: outputFlag(TEST_FORMATS)({ multiple: true, multipleNonGreedy: true }),
  json: jsonFlag,
}

type TestFlags = InferredFlags<typeof testFlags>

/** Maps the flags to the use case. `place` is the command's Io itself, not a copy, to keep its stdin lazy. */
export function testCommand(
  flags: TestFlags,
  place: Pick<Io, 'cwd' | 'env' | 'stdin'>,
  verbose: boolean,
): Omit<TestCommand, 'paint' | 'notePaint' | 'tool'> {
  return {
    cwd: place.cwd,
    env: place.env,
    get stdin() {
      return place.stdin
    },
    outputs: outputTargets(flags.json ? [{ format: 'json' }] : flags.output, 'text'),
    coverage: flags.coverage ?? [],
    bail: flags.bail,
    update: flags.update,
    verbose,
    ...(flags.config !== undefined && { config: flags.config }),
    ...(flags.live !== undefined && { live: liveUrl(flags.live) }),
    ...(flags.filter !== undefined && { filter: flags.filter }),
    ...(flags.shard !== undefined && { shard: flags.shard }),
    ...(flags['fail-under'] !== undefined && { failUnder: flags['fail-under'] }),
  }
}

function liveUrl(text: string): URL {
  const url = URL.parse(text)
  if (/^https?:\/\/[^/]+\/$/.test(url?.href ?? '')) return url as URL
  throw new Failure(
    'usage',
    `${text} is not a URL of a gateway. Write http://HOST:PORT, for example http://localhost:3000.`,
  )
}

export function withTestFlagDefaults(argv: readonly string[]): string[] {
  return withOptionalValues(argv, { '--coverage': '--coverage=text' })
}
