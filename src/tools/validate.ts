import { appendFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Severity } from '../diagnostics/diagnostic.ts'
import { Failure } from '../diagnostics/failure.ts'
import { type CheckReport, displayPath } from '../diagnostics/render/report.ts'
import { visible } from '../diagnostics/visible.ts'
import { type CheckOptions, type CheckOutcome, check, type Rewritten } from './check/check.ts'
import { atLeast, exceeds, isForPeople, type RenderOptions, type ReportFormat, renderReport } from './check/report.ts'

export interface ReportTarget {
  readonly format: ReportFormat
  /** Undefined: stdout. */
  readonly path?: string
}

export interface ValidateRequest extends CheckOptions, RenderOptions {
  readonly outputs: readonly ReportTarget[]
  /** The minimum severity that counts as a failure, regardless of what is shown. */
  readonly failOn: Severity | 'never'
  /** The minimum severity shown. */
  readonly minSeverity: Severity
  /** Print the changes of `fix` instead of applying them. */
  readonly diff: boolean
  readonly writeBaseline?: string
  readonly verbose: boolean
}

/** The command's output. */
export interface Printer {
  deliver(text: string, target: { readonly path?: string }): Promise<void>
  /** Prints notes to stderr. */
  note(text: string): void
}

/** Checks, fixes and reports, for one run of the command; true if there are findings to fail on. */
export async function validate(paths: readonly string[], request: ValidateRequest, to: Printer): Promise<boolean> {
  const outcome = await check(paths, request)
  const { report, failures } = outcome
  if (request.verbose) for (const line of skippedLines(report)) to.note(line)
  let failing = exceeds(report, request.failOn)
  if (request.writeBaseline !== undefined) {
    const { writeBaseline } = await import('./check/baseline.ts')
    const count = writeBaseline(request.writeBaseline, report.diagnostics, request.cwd)
    to.note(`Wrote ${counted(count, 'finding')} to ${request.writeBaseline}.`)
    failing = false
  } else if (request.diff) {
    await printDiff(outcome, request, to)
    failing ||= (report.fixed ?? []).length > 0
  } else {
    const fixesStdin = await writeFixes(outcome, request, to)
    await printReports(outcome, request, fixesStdin ? toStderr(to) : to)
  }
  if (outcome.gone > 0) to.note(`${counted(outcome.gone, 'entry', 'entries')} of the baseline no longer occur.`)
  if (failures.length > 0) throw together(failures)
  return failing
}

function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}

function* skippedLines({ skipped, cwd }: CheckReport): Generator<string> {
  for (const { file, document, reason } of skipped) {
    yield `skipped ${visible(displayPath(file, cwd))}${document === undefined ? '' : ` (document ${document})`}: ${reason}`
  }
}

async function printDiff({ report, rewritten }: CheckOutcome, request: ValidateRequest, to: Printer): Promise<void> {
  const { unifiedDiff } = await import('./check/diff.ts')
  const { concealerFor } = await import('./input/shown-texts.ts')
  const conceal = await concealerFor(rewritten.map(({ before }) => before))
  const diffs = rewritten.map(({ input, before, after }) => {
    return unifiedDiff(displayPath(input.file, request.cwd), before, after, text => conceal(input.file, text))
  })
  await to.deliver(diffs.map(({ text }) => text).join(''), {})
  const fixed = report.fixed ?? []
  const files = rewritten.filter(each => each.before !== each.after).length
  to.note(`${counted(fixed.length, 'problem')} would be fixed in ${counted(files, 'file')}.`)
  if (diffs.some(({ concealed }) => concealed)) to.note('Its secrets are `*`: apply it with `--fix`, not as a patch.')
}

/** True if the text of stdin was printed: stdout is then in use. */
async function writeFixes(
  { report, rewritten }: CheckOutcome,
  request: ValidateRequest,
  to: Printer,
): Promise<boolean> {
  const fixed = report.fixed ?? []
  const printed = rewritten.find(({ input }) => input.path === undefined)
  const files = rewritten.filter(({ input }) => input.path !== undefined)
  if (files.length > 0) await writeFiles(files, request.cwd)
  if (printed) await to.deliver(printed.after, {})
  for (const { file, line, code, title } of fixed) {
    to.note(`fixed ${visible(displayPath(file, request.cwd))}:${line} ${code}: ${title}`)
  }
  return printed !== undefined
}

async function writeFiles(files: readonly Rewritten[], cwd: string): Promise<void> {
  const { replaceFile } = await import('../files/write-file.ts')
  const { encodeText } = await import('../diagnostics/source-text.ts')
  for (const { input, bytes, after } of files) replaceFile(input.path!, encodeText(after, bytes), input.file, cwd)
}

function toStderr(to: Printer): Printer {
  return {
    ...to,
    deliver: async (text, target) => (target.path === undefined ? to.note(text.trimEnd()) : to.deliver(text, target)),
  }
}

async function printReports(outcome: CheckOutcome, request: ValidateRequest, to: Printer): Promise<void> {
  const { report, failures } = outcome
  const shown = atLeast(report, request.minSeverity)
  const idle = request.hook === true && shown.diagnostics.length === 0 && (report.checked ?? []).length === 0
  // The failure then says it all.
  const unread = failures.length > 0 && (report.checked ?? []).length === 0
  for (const output of request.outputs) {
    if (isForPeople(output.format) && output.path === undefined && (idle || unread)) continue
    await to.deliver(await renderReport(shown, output.format, request), output)
  }
  if (request.env.GITHUB_ACTIONS === 'true' || request.outputs.some(({ format }) => format === 'github')) {
    await writeGithubSummary(shown, request, to)
  }
}

/** In a GitHub workflow, annotations are added to any format, and the job summary gets a table. */
async function writeGithubSummary(report: CheckReport, request: ValidateRequest, to: Printer): Promise<void> {
  const { renderGithub, renderGithubSummary } = await import('../diagnostics/render/github.ts')
  if (!request.outputs.some(({ format }) => format === 'github')) {
    const text = renderGithub(report)
    const stdout = request.outputs.find(({ path }) => path === undefined)
    // The runner reads both streams; mixing other lines into JSON would break it.
    const joins = stdout === undefined || isForPeople(stdout.format)
    if (text !== '') await (joins ? to : toStderr(to)).deliver(text, {})
  }
  const summary = request.env.GITHUB_STEP_SUMMARY
  if (summary === undefined || summary === '') return
  try {
    appendFileSync(resolve(request.cwd, summary), renderGithubSummary(report))
  } catch (error) {
    to.note(`cannot write the summary of the job: ${(error as Error).message}`)
  }
}

function together(failures: readonly Failure[]): Failure {
  const [first] = failures
  if (failures.length === 1) return first!
  return new Failure(
    'input',
    failures.map(({ message }) => message).join('\n'),
    first!.help ? { help: first!.help } : {},
  )
}
