import type { Paint } from '../../diagnostics/paint.ts'
import { createEventReader } from './events.ts'
import { fileFor, type Recording } from './recording.ts'
import { addEvents, EMPTY } from './state.ts'
import { requestText } from './text.ts'

/** Told about each event that cannot be read; the rest goes on. */
export type Unreadable = (text: string) => void

/** Writes lines into a file as they come. Throws a Failure `input` when it cannot be written. */
export async function linesInto(lines: AsyncIterable<string>, path: string, cwd: string): Promise<void> {
  const file = await fileFor(path, cwd)
  try {
    for await (const line of lines) await file.appendFile(line)
  } finally {
    await file.close()
  }
}

/** JSON Lines: one event per line, as the gateway wrote it. */
export async function* rawLines(recording: Recording, unreadable: Unreadable): AsyncGenerator<string> {
  for await (const text of recording.texts) {
    const line = oneLine(text)
    if (line === undefined) unreadable(text)
    else yield `${line}\n`
  }
}

/** A tree per request, when it has ended; those that are still running when the recording ends come last. */
export async function* requestTrees(
  recording: Recording,
  paint: Paint,
  unreadable: Unreadable,
): AsyncGenerator<string> {
  const reader = createEventReader()
  let state = EMPTY
  let separator = ''
  const show = (request: (typeof state.requests)[number]) => {
    const text = separator + requestText(request, paint)
    separator = '\n'
    return text
  }
  try {
    for await (const text of recording.texts) {
      const event = reader.read(text)
      if (event === undefined) {
        unreadable(text)
        continue
      }
      state = addEvents(state, [event])
      const ended = state.requests.find(({ end }) => end !== undefined)
      if (ended === undefined) continue
      yield show(ended)
      state = { ...state, requests: state.requests.filter(request => request !== ended) }
    }
  } catch (error) {
    // What is known of a request that was cut off may be just what the reader is after.
    for (const request of state.requests) yield show(request)
    throw error
  }
  for (const request of state.requests) yield show(request)
}

function oneLine(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return text.includes('\n') ? JSON.stringify(value) : text
  } catch {
    return undefined
  }
}
