import type { DryGateway, DryOutcome } from '../dry-run/dry-run.ts'
import { TestClient } from '../test-file/client.ts'
import { expectedAt } from '../test-file/expectation.ts'
import { parseFieldPath } from '../test-file/field-path.ts'
import { compare, Hidden, isSnapshot, shown } from '../test-file/matcher.ts'
import type { TestCase, TestFile, TestStep } from '../test-file/test-file.ts'
import { type Decision, decidedBy } from './decided-by.ts'
import { remarkOn } from './known-names.ts'
import { isVisible, type LiveGateway } from './live.ts'
import type { SnapshotFile } from './snapshot/snapshot-file.ts'
import { stubsOf } from './stubs-of.ts'
import { fieldAt, viewOf } from './view.ts'

/** A field that is not as expected, in words. */
interface WrongField {
  readonly field: string
  readonly expected: string
  readonly actual: string
}

/** A request of a case that did not meet the expectations. */
export interface WrongOutcome {
  /** 1-based; set if the case has several. */
  readonly step: number | undefined
  readonly repetition: number | undefined
  readonly fields: readonly WrongField[]
  readonly decision: Decision | undefined
}

/** Runs a case from a fresh state. `seen` receives each request. */
export function runCase(
  file: TestFile,
  testCase: TestCase,
  gateway: DryGateway,
  { seen, snapshots }: { seen(outcome: DryOutcome): void; readonly snapshots: SnapshotFile },
): Promise<readonly WrongOutcome[]> {
  gateway.reset(stubsOf(file, testCase))
  const advance = (ms: number) => gateway.clock.advance(ms)
  const remark: Running['remark'] = (field, expected) => remarkOn(field, expected, gateway.snapshot)
  return runSteps(testCase, new TestClient(gateway), { advance, seen, compares: () => true, remark, snapshots })
}

/** The same against a running gateway, of which only responses are visible. */
export async function runLive(
  testCase: TestCase,
  gateway: LiveGateway,
  snapshots: SnapshotFile,
): Promise<readonly WrongOutcome[]> {
  const client = new TestClient(gateway)
  try {
    return await runSteps(testCase, client, {
      advance: () => {},
      seen: () => {},
      compares: isVisible,
      remark: () => undefined,
      snapshots,
    })
  } finally {
    await client.close()
  }
}

interface Running {
  readonly snapshots: SnapshotFile
  advance(ms: number): void
  seen(outcome: DryOutcome): void
  /** Whether the field can be checked. */
  compares(field: string): boolean
  /** A remark on an expected value that did not occur. */
  remark(field: string, expected: unknown): string | undefined
}

async function runSteps(testCase: TestCase, client: TestClient, to: Running): Promise<readonly WrongOutcome[]> {
  const wrong: WrongOutcome[] = []
  const steps = stepsOf(testCase)
  for (const [number, { advance, request, repeat, expect = {} }] of steps.entries()) {
    if (advance !== undefined) to.advance(advance)
    if (request === undefined) continue
    const compared = Object.entries(expect).filter(([field]) => to.compares(field))
    for (let repetition = 0; repetition < repeat; repetition++) {
      const outcome = await client.send(request)
      to.seen(outcome)
      const which = {
        step: steps.length > 1 ? number + 1 : undefined,
        repetition: repeat > 1 ? repetition + 1 : undefined,
      }
      const fields = wrongFields(compared, outcome, repetition, { to, place: [testCase.name, wordsFor(which)] })
      if (fields.length === 0) continue
      const names = fields.map(({ field }) => field)
      wrong.push({ ...which, fields, decision: decidedBy(outcome.events, names) })
    }
  }
  return wrong
}

function stepsOf({ steps, request, repeat, expect }: TestCase): readonly TestStep[] {
  if (steps) return steps
  return [{ repeat, ...(request && { request }), ...(expect && { expect }) }]
}

/** `place`: the name of the case, and which of its requests it is. */
interface Compared {
  readonly to: Running
  readonly place: readonly [testCase: string, which: string]
}

/** `step 2, repetition 3`; empty if there is only one. */
export function wordsFor({ step, repetition }: Pick<WrongOutcome, 'step' | 'repetition'>): string {
  return [step && `step ${step}`, repetition && `repetition ${repetition}`].filter(Boolean).join(', ')
}

function wrongFields(
  expect: readonly (readonly [field: string, value: unknown])[],
  outcome: DryOutcome,
  repetition: number,
  { to: { remark, snapshots }, place: [testCase, which] }: Compared,
): WrongField[] {
  const view = viewOf(outcome)
  return expect.flatMap(([field, value]) => {
    const actual = fieldAt(view, parseFieldPath(field) ?? [])
    const expected = expectedAt(field, value, repetition)
    const differences = isSnapshot(expected)
      ? snapshots.compare(testCase, which === '' ? field : `${which}, ${field}`, actual)
      : compare(expected, actual)
    return differences.map(difference => {
      const hidden = difference.actual instanceof Hidden
      const remarked = remark(field, expected)
      return {
        field: [field, ...difference.path].reduce<string>(joined, ''),
        expected: hidden ? 'another value' : `${difference.expected}${remarked === undefined ? '' : ` (${remarked})`}`,
        actual: hidden ? 'a credential, which is not shown' : shown(difference.actual),
      }
    })
  })
}

function joined(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`
  return path === '' ? step : `${path}.${step}`
}
