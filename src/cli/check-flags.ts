import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import { CODES, type Code } from '../diagnostics/codes.ts'
import { Failure } from '../diagnostics/failure.ts'
import { didYouMean } from '../diagnostics/suggest.ts'
import { REPORT_FORMATS } from '../tools/check/report.ts'
import type { ValidateRequest } from '../tools/validate.ts'
import { fileFlag, jsonFlag, outputFlag, outputTargets, withOptionalValues } from './flags.ts'
import type { Io } from './io.ts'

const severities = ['error', 'warning', 'info'] as const
const codes = Flags.custom<Code>({
  multiple: true,
  multipleNonGreedy: true,
  delimiter: ',',
  helpValue: 'CODE[,CODE]',
  parse: async text => parseCode(text),
})

/** All flags of `validate`. */
export const checkFlags = {
  file: fileFlag,
  output: outputFlag(REPORT_FORMATS)({ multiple: true, multipleNonGreedy: true }),
  json: jsonFlag,
  tier: Flags.option({ options: ['syntax', 'offline', 'env'] as const })({
    default: 'offline',
    summary:
      'syntax: text, fields and expressions only; env: variables are set and referenced files exist, as `run` needs.',
  }),
  mode: Flags.option({ options: ['auto', 'standalone', 'cluster'] as const })({
    default: 'auto',
    summary: 'Type of the documents; auto detects it for each.',
  }),
  partial: Flags.boolean({ summary: 'The input is part of a configuration: unresolved names are not errors.' }),
  'fail-on': Flags.option({ options: [...severities, 'never'] as const })({
    default: 'error',
    summary: 'The lowest severity that makes the exit code 1.',
  }),
  'exit-zero': Flags.boolean({ summary: 'Findings do not change the exit code.' }),
  'min-severity': Flags.option({ options: severities })({
    default: 'info',
    summary: 'The lowest severity to show; --fail-on is not affected.',
  }),
  select: codes({ summary: 'Report these codes only.' }),
  ignore: codes({ summary: 'Do not report these codes.' }),
  'max-problems': Flags.integer({
    min: 0,
    default: 50,
    summary: 'How many findings to print, 0 for all; all are counted.',
  }),
  since: Flags.string({ helpValue: 'REV', summary: 'Only findings on lines that differ from this git revision.' }),
  baseline: Flags.string({ helpValue: 'FILE', summary: 'Only findings that are not recorded in this file.' }),
  'write-baseline': Flags.string({
    helpValue: '[=FILE]',
    summary: 'Record the findings as known and report none.',
    exclusive: ['baseline', 'fix', 'since'],
  }),
  fix: Flags.option({ options: ['safe', 'all'] as const })({
    helpValue: '[=safe|all]',
    summary: 'Fix the files; all: also where the meaning may change. With -, prints the fixed text.',
  }),
  diff: Flags.boolean({ summary: 'Print what --fix would change without writing it.' }),
  config: Flags.boolean({ default: true, allowNo: true, summary: 'Read the nearest .gwctl.yaml of each file.' }),
  'allow-empty': Flags.boolean({ summary: 'An empty stdin is not an error.' }),
  'stdin-filename': Flags.string({
    helpValue: 'NAME',
    summary: 'File name under which findings in stdin are reported.',
  }),
  hook: Flags.boolean({ summary: 'For git hooks: silently skip files that are not gateway configuration.' }),
  watch: Flags.boolean({ summary: 'Check again on every change.', exclusive: ['fix', 'diff', 'write-baseline'] }),
}

export type CheckFlags = InferredFlags<typeof checkFlags>

/** Maps the flags to the use case. `place` is the command's Io itself, not a copy, to keep its stdin lazy. */
export function checkRequest(
  flags: CheckFlags,
  place: Pick<Io, 'cwd' | 'env' | 'stdin'>,
  verbose: boolean,
): Omit<ValidateRequest, 'paint' | 'tool'> {
  return {
    cwd: place.cwd,
    env: place.env,
    get stdin() {
      return place.stdin
    },
    tier: flags.tier,
    mode: flags.mode,
    partial: flags.partial,
    hook: flags.hook,
    allowEmpty: flags['allow-empty'],
    settings: flags.config,
    select: flags.select ?? [],
    ignore: flags.ignore ?? [],
    outputs: outputTargets(flags.json ? [{ format: 'json' }] : flags.output, flags.hook ? 'concise' : 'text'),
    failOn: flags['fail-on'],
    minSeverity: flags['min-severity'],
    maxProblems: flags['max-problems'],
    diff: flags.diff,
    verbose,
    ...(flags['stdin-filename'] !== undefined && { stdinName: flags['stdin-filename'] }),
    ...(flags.baseline !== undefined && { baseline: flags.baseline }),
    ...(flags['write-baseline'] !== undefined && { writeBaseline: flags['write-baseline'] }),
    ...(flags.since !== undefined && { since: flags.since }),
    ...(flags.fix !== undefined ? { fix: flags.fix } : flags.diff && { fix: 'safe' as const }),
  }
}

/** oclif has no flags with optional values: `--fix` stands for `--fix=safe`. */
export function withFlagDefaults(argv: readonly string[]): string[] {
  return withOptionalValues(argv, DEFAULTS)
}

const DEFAULTS: Readonly<Record<string, string>> = {
  '--fix': '--fix=safe',
  '--write-baseline': '--write-baseline=.gwctl-baseline.json',
}

function parseCode(text: string): Code {
  const code = text.trim().toUpperCase()
  if (Object.hasOwn(CODES, code)) return code as Code
  const guess = didYouMean(code, Object.keys(CODES))
  throw new Failure('usage', `unknown code ${text}${guess === undefined ? '.' : `: ${guess}`}`)
}
