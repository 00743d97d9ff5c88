import type { Paint } from '../../diagnostics/paint.ts'
import { printableJson } from '../../diagnostics/render/json.ts'
import { recordedRequests, type Unreadable } from '../events/recorded-requests.ts'
import { appendTo, fileFor, type Recording } from '../events/recording.ts'
import { requestText } from './text.ts'

/** Streams lines to a file; false if there were none. Throws a Failure `input` if it cannot be written. */
export async function linesInto(lines: AsyncIterable<string>, path: string, cwd: string): Promise<boolean> {
  const file = await fileFor(path, cwd)
  let some = false
  try {
    for await (const line of lines) {
      some = true
      await appendTo(file, path, line)
    }
    return some
  } finally {
    await file.close()
  }
}

/** JSON Lines: one event per line, as the gateway wrote it, with terminal control characters escaped. */
export async function* rawLines(recording: Recording, unreadable: Unreadable): AsyncGenerator<string> {
  for await (const text of recording.texts) {
    const line = oneLine(text)
    if (line === undefined) unreadable(text)
    else yield `${line}\n`
  }
}

/** A tree per request, in the order of `recordedRequests`. */
export async function* requestTrees(
  recording: Recording,
  paint: Paint,
  unreadable: Unreadable,
): AsyncGenerator<string> {
  let separator = ''
  for await (const request of recordedRequests(recording, unreadable)) {
    yield separator + requestText(request, paint)
    separator = '\n'
  }
}

function oneLine(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return printableJson(text.includes('\n') ? JSON.stringify(value) : text)
  } catch {
    return undefined
  }
}
