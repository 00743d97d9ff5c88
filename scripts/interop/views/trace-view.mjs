// `gwctl trace` of a saved recording, for screens.mjs.
import { join } from 'node:path'

export function traceView(root) {
  const command = `${process.execPath} ${join(root, 'bin/run.js')} trace -f trace.jsonl`
  return {
    name: 'trace',
    folder: join(root, 'test/tools/trace/screens'),
    sizes: [
      [80, 24],
      [120, 40],
      [200, 60],
    ],
    // A file has all its events at once; nothing waits for one.
    shows: ({ recording }) => recording === undefined,
    tries: 1,
    ready: 'the trace is complete',
    /** A key, and what it leads to. */
    answers: ['k', 'GET'],
    play: async () => ({ command, plain: text => text, stop: () => {} }),
  }
}
