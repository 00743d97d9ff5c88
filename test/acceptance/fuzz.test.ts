import { expect, test } from 'vitest'
import { FuzzedInputs, faultOf } from './fuzzed-inputs.ts'

const COUNT = 1500
/** ms of processor time; far above what any of these inputs takes, far below a hang. */
const LONGEST = 5000

test('no input makes checking throw, hang or report a position outside the text', async () => {
  const inputs = new FuzzedInputs(7)
  for (let i = 0; i < COUNT; i++) {
    const text = inputs.next()
    const before = process.threadCpuUsage()
    const fault = await faultOf(text)
    const { user, system } = process.threadCpuUsage(before)
    const took = (user + system) / 1000
    if (fault !== undefined || took > LONGEST)
      expect({ input: i, fault: fault ?? `took ${Math.round(took)} ms`, text }).toBeUndefined()
  }
})
