import { visible } from '../../diagnostics/visible.ts'
import { createEventReader } from './events.ts'
import type { Recording } from './recording.ts'
import { addEvents, EMPTY, type RequestTrace } from './state.ts'

/** Receives each text that is not an event; the recording continues. */
export type Unreadable = (text: string) => void

export function unreadableNote(text: string): string {
  return `skipped an event that cannot be read: ${visible(text.slice(0, 80))}`
}

/**
 * Yields each request when it has ended, and those that are still running at the end. If the recording breaks off, they
 * are yielded before that is thrown: a request that was cut off may be just what the reader is after.
 */
export async function* recordedRequests(recording: Recording, unreadable: Unreadable): AsyncGenerator<RequestTrace> {
  const reader = createEventReader()
  let state = EMPTY
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
      yield ended
      state = { ...state, requests: state.requests.filter(request => request !== ended) }
    }
  } catch (error) {
    yield* state.requests
    throw error
  }
  yield* state.requests
}

/** Converts each of them, for documents that are written at the end. Throws if the recording never began. */
export async function collectRequests<T>(
  recording: Recording,
  unreadable: Unreadable,
  make: (request: RequestTrace, index: number) => T,
): Promise<{ readonly made: readonly T[]; readonly broken?: unknown }> {
  const made: T[] = []
  try {
    for await (const request of recordedRequests(recording, unreadable)) made.push(make(request, made.length))
    return { made }
  } catch (broken) {
    if (made.length === 0) throw broken
    return { made, broken }
  }
}
