import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'

const settingsOf = (env: Record<string, string>) => {
  const problems: string[] = []
  const settings = resolveSettings(undefined, env, ({ variable }) => problems.push(variable))
  return { settings, problems }
}

test.each([
  ['DNS_LOOKUP_FAMILY', 'v4only', 'lookupFamily', 'V4Only'],
  ['WORKER_THREADS', '50%', 'workers', '50%'],
  ['IPV6_ENABLED', 'false', 'ipv6', false],
  ['STATS_ADDR', 'off', 'statsAddr', 'off'],
  ['CONNECTION_TERMINATION_DEADLINE', '7', 'terminationMax', 7000],
  ['TERMINATION_GRACE_PERIOD_SECONDS', '30', 'terminationMax', 25_000],
] as const)('%s=%s sets %s', (variable, text, field, value) => {
  const { settings, problems } = settingsOf({ [variable]: text })
  expect([settings[field], problems]).toEqual([value, []])
  expect(settingsOf({ [variable]: '' }).settings).toEqual(settingsOf({}).settings)
})

test.each([
  ['DNS_LOOKUP_FAMILY', 'nonsense'],
  ['ADMIN_ADDR', 'nonsense'],
  ['ADMIN_ADDR', '127.0.0.1:70000'],
  ['STATS_ADDR', 'example.com:15020'],
  ['READINESS_ADDR', 'unix:relative'],
  ['SESSION_KEY', 'nonsense'],
  ['CONNECTION_MIN_TERMINATION_DEADLINE', 'nonsense'],
  ['RUST_LOG', 'loud'],
  ['RUST_LOG', 'info,proxy=louder'],
  ['WORKER_THREADS', 'all'],
  ['WORKER_THREADS', '0'],
  ['WORKER_THREADS', '1025'],
  ['WORKER_THREADS', '0%'],
])('%s=%s is rejected before anything starts', (variable, text) => {
  const { settings, problems } = settingsOf({ [variable]: text })
  expect(problems).toEqual([variable])
  expect(settings).toEqual(settingsOf({}).settings)
})
