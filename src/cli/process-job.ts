import type { JobControl, JobWatcher } from '../tools/terminal/job-control.ts'

/** ms in which a stop takes effect, if at all: a process group that no shell could continue is not stopped. */
const STOPPING_MS = 50

/** This process as a job. Windows has no jobs. */
export function processJob(): JobControl {
  if (process.platform === 'win32') return { stop: async () => {}, watch: () => () => {} }
  const watchers = new Set<JobWatcher>()
  let stopping = false
  const onStop = () => {
    for (const watcher of watchers) watcher.onStop()
  }
  const onContinue = () => {
    if (stopping) return
    for (const watcher of watchers) watcher.onContinue()
  }
  return {
    async stop() {
      stopping = true
      // Without a listener, the signal has its default effect.
      process.off('SIGTSTP', onStop)
      // The whole group: with npx, the shell's job is more than this process.
      process.kill(0, 'SIGTSTP')
      await new Promise(resolve => setTimeout(resolve, STOPPING_MS))
      if (watchers.size > 0) process.on('SIGTSTP', onStop)
      stopping = false
    },
    watch(told) {
      watchers.add(told)
      if (watchers.size === 1) process.on('SIGTSTP', onStop).on('SIGCONT', onContinue)
      return () => {
        watchers.delete(told)
        if (watchers.size === 0) process.off('SIGTSTP', onStop).off('SIGCONT', onContinue)
      }
    },
  }
}
