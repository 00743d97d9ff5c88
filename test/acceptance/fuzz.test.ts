import { expect, test } from 'vitest'
import { FuzzedInputs, faultOf } from './fuzzed-inputs.ts'

const COUNT = 1500
/** ms; far above what any of these inputs takes, far below a hang. */
const LONGEST = 5000

test('no input makes checking throw, hang or point outside of the text', async () => {
  const inputs = new FuzzedInputs(7)
  for (let i = 0; i < COUNT; i++) {
    const text = inputs.next()
    const started = performance.now()
    const fault = await faultOf(text)
    const took = performance.now() - started
    if (fault !== undefined || took > LONGEST)
      expect({ input: i, fault: fault ?? `took ${Math.round(took)} ms`, text }).toBeUndefined()
  }
}, 120_000)
