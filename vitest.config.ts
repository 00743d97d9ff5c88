import { defineConfig } from 'vitest/config'
import { ClosingLine } from './scripts/closing-line.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    // Left to itself, vitest keeps one of two cores for others.
    maxWorkers: '100%',
    // What comes late is no failure: on a busy machine a thread can go without a turn for seconds. These end what hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    env: { NO_COLOR: '1' },
    reporters: ['default', new ClosingLine()],
  },
})
