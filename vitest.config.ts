import { defineConfig } from 'vitest/config'
import { ClosingLine } from './scripts/closing-line.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A condition that comes true late is no failure: on a busy machine a thread can go without a turn for seconds.
    expect: { poll: { timeout: 30_000 } },
    env: { NO_COLOR: '1' },
    reporters: ['default', new ClosingLine()],
  },
})
