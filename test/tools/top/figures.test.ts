import { expect, test } from 'vitest'
import { bar, bytes, count, duration, milliseconds, rate, sparkline } from '../../../src/tools/top/figures.ts'

test('formats rates: zero, almost zero and two significant digits', () => {
  expect([0, 0.01, 0.05, 9.94, 9.96, 1234, 12_345, 999_999, 5e9].map(rate)).toEqual([
    '-',
    '<0.1',
    '0.1',
    '9.9',
    '10',
    '1234',
    '12k',
    '1000k',
    '5.0G',
  ])
  expect([0, 9999, 10_000].map(count)).toEqual(['0', '9999', '10k'])
})

test('formats sizes and times', () => {
  expect([0, 1, 999, 1000, 12_345, 182_400_000, 5e12].map(bytes)).toEqual([
    '-',
    '1B',
    '999B',
    '1.0kB',
    '12kB',
    '182MB',
    '5.0TB',
  ])
  expect([undefined, 0.04, 9.96, 999, 999.6, 80_000].map(milliseconds)).toEqual([
    '-',
    '0.0ms',
    '10ms',
    '999ms',
    '1.0s',
    '80s',
  ])
  expect([-1, 59.9, 61, 8000, 90_000].map(duration)).toEqual(['0s', '59s', '1m1s', '2h13m', '1d1h'])
})

test('a bar is full or empty only at its limits and never longer than requested', () => {
  const parts = [-1, 0, 0.001, 0.4, 0.999, 1, 7]
  expect(parts.map(part => bar(part, 5))).toEqual(['░░░░░', '░░░░░', '█░░░░', '██░░░', '████░', '█████', '█████'])
})

test('a sparkline scales the last values to their maximum and leaves gaps empty', () => {
  expect(sparkline([9, 0, 1, 2, undefined, 4], 5)).toBe('▁▃▅ █')
  expect(sparkline([0, 0], 5)).toBe('▁▁')
  expect(sparkline([1], 0)).toBe('')
})
