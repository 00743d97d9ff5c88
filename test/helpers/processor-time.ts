/** ms of processor time that `work` takes in this thread; its duration would tell how busy the machine is. */
export function processorTime(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
