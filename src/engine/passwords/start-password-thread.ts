import { Worker } from 'node:worker_threads'
import type { PasswordAnswer, PasswordThread } from '../../runtime/password-thread.ts'

/** Does not keep the process alive. */
export function startPasswordThread(): PasswordThread {
  const worker = new Worker(entry(), { stdout: false, stderr: false })
  worker.unref()
  return {
    check: question => worker.postMessage(question),
    onAnswer(told) {
      let ended = false
      const end = () => {
        if (ended) return
        ended = true
        told(undefined)
      }
      worker.on('message', (answer: PasswordAnswer) => told(answer))
      worker.on('error', end)
      worker.on('exit', end)
    },
    end: () => void worker.terminate(),
  }
}

/** The same module from source and from the build, where this file is part of a chunk. */
function entry(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './password-thread.ts' : '../password-thread.js', import.meta.url)
}
