import { expect, onTestFinished, test } from 'vitest'
import { randomCalls } from './random-calls.ts'

// npm run fuzz:http2 makes as many as one likes.
test.each([1, 2, 3])('random calls pass unchanged (seed %i)', async seed => {
  const calls = await randomCalls(seed)
  onTestFinished(() => calls.close())
  expect(await calls.run(150)).toEqual([])
})
