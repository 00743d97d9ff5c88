export const TEST_FORMATS = ['text', 'tap', 'json', 'junit', 'github'] as const
export type TestFormat = (typeof TEST_FORMATS)[number]

export const COVERAGE_FORMATS = ['text', 'json', 'lcov'] as const
export type CoverageFormat = (typeof COVERAGE_FORMATS)[number]
