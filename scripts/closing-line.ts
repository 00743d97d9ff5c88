import type { Reporter, TestModule } from 'vitest/node'

/** Ends a test run with `N passed, N failed`, which a CI can read without knowing vitest. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const states = modules.flatMap(module => [...module.children.allTests()]).map(test => test.result().state)
    const count = (state: string) => states.filter(found => found === state).length
    // A file that does not even load has no test that could fail.
    const broken = modules.filter(module => module.state() === 'failed' && module.errors().length > 0).length
    const failed = count('failed') + broken + errors.length
    process.stdout.write(`\n${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped\n`)
  }
}
