import { writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { cannotWrite, Failure } from '../../diagnostics/failure.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { visible } from '../../diagnostics/visible.ts'
import { collectRequests, type Unreadable } from '../events/recorded-requests.ts'
import type { Recording } from '../events/recording.ts'
import type { RequestTrace } from '../events/state.ts'
import { doubtsAbout, type SavedCase, savedCaseOf } from './saved-case.ts'

/** Writes the case to a new file below `cwd`; returns its name, and the doubts about it. */
export async function saveTestCase(
  trace: RequestTrace,
  cwd: string,
): Promise<{ readonly name: string; readonly doubts: readonly string[] }> {
  const words = `${trace.method} ${trace.path}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  if (!URL.canParse(trace.url)) throw new Failure('input', 'the trace lacks the URL of this request')
  const text = testText([trace], { cwd, folder: cwd })
  for (let number = 1; ; number++) {
    const name = `${words.slice(0, 60) || 'request'}${number === 1 ? '' : `-${number}`}.gwtest.yaml`
    try {
      await writeFile(resolve(cwd, name), text, { flag: 'wx' })
      return { name, doubts: doubtsAbout(trace) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(name, error)
    }
  }
}

/**
 * A recording as one test file, with a case for each request that has ended. If the recording breaks off, it has what
 * arrived, and `broken` has the reason, even if no request has ended and `text` is empty. `path`: the location of the
 * file, to name the configuration relative to it. `doubtful`: the number of cases that may not hold, as noted in the
 * text.
 */
export async function testDocument(
  recording: Recording,
  place: { readonly cwd: string; readonly path: string | undefined },
  unreadable: Unreadable,
): Promise<{ readonly text: string; readonly doubtful: number; readonly broken?: unknown }> {
  const { made, ...rest } = await collectRequests(recording, unreadable, trace => trace)
  // Requests without a recorded start cannot be sent again.
  const ended = made.filter(({ end, url }) => end !== undefined && URL.canParse(url))
  if (ended.length === 0) {
    return {
      text: '',
      doubtful: 0,
      broken: rest.broken ?? new Failure('input', 'no request has been seen from its start to its end.'),
    }
  }
  const folder = place.path === undefined ? place.cwd : dirname(resolve(place.cwd, place.path))
  const doubtful = ended.filter(each => doubtsAbout(each).length > 0).length
  return { text: testText(ended, { cwd: place.cwd, folder }), doubtful, ...rest }
}

/** With a remark on each case that may not hold. `folder`: the folder of the file. */
function testText(traces: readonly RequestTrace[], { cwd, folder }: { readonly cwd: string; readonly folder: string }) {
  const file = traces.flatMap(({ steps }) => steps.flatMap(({ event }) => event.origins))[0]?.file
  const config = file === undefined || isAbsolute(file) ? file : relative(folder, resolve(cwd, file))
  const cases = withOwnNames(traces.map(savedCaseOf))
  const remarks = traces.flatMap((trace, i) => {
    return doubtsAbout(trace).map(doubt => `# ${visible(cases[i]?.name ?? '')}: ${visible(doubt)}.\n`)
  })
  return `${remarks.join('')}${printYaml({ ...(config === undefined ? {} : { config }), cases })}`
}

/** Duplicate names are numbered, since names identify the cases of a file. */
function withOwnNames(cases: readonly SavedCase[]): SavedCase[] {
  const taken = new Set<string>()
  return cases.map(each => {
    let { name } = each
    for (let number = 2; taken.has(name); number++) name = `${each.name} (${number})`
    taken.add(name)
    return { ...each, name }
  })
}
