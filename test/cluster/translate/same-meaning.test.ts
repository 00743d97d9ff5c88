import { describe, expect, test } from 'vitest'
import { policy } from './one-policy.ts'

/** What a kind accepts, the standalone policy made of it accepts too, with the same meaning. */
describe('csrf.additionalOrigins', () => {
  const csrf = (origin: string) => policy({ csrf: { additionalOrigins: [origin] } })

  test.each(['https://*.example.com', 'https://*', 'https://ex*mple.com'])(
    '%s is rejected with a finding',
    async origin => {
      const { findings, losses } = await csrf(origin)
      expect(findings).toEqual([`GW106 \`${origin}\` is not an origin: it would never match`])
      expect(losses.filter(message => message.includes('every request is refused'))).toEqual([])
    },
  )

  test.each(['https://app.example.com', 'http://app.example.com:8080', 'moz-extension://abc'])(
    '%s is allowed',
    async origin => {
      expect(await csrf(origin)).toEqual({
        findings: [],
        losses: [],
        policies: [{ csrf: { additionalOrigins: [origin] } }],
      })
    },
  )
})

describe('sizes', () => {
  test.each([
    ['8Ki', 8192],
    ['1e3', 1000],
    ['1E', 1e18],
    ['1'.repeat(32), Number.MAX_SAFE_INTEGER],
    ['0.5Ki', 512],
    [4096, 4096],
  ])('maxBytes: %s', async (written, bytes) => {
    const { policies } = await policy({ buffer: { request: { maxBytes: written } } })
    expect(policies).toEqual([
      { buffer: { request: { maxBytes: Math.min(bytes, Number.MAX_SAFE_INTEGER), failureMode: 'failClosed' } } },
    ])
  })
})

describe('rateLimit', () => {
  const local = [{ requests: 10, unit: 'Seconds' }]
  const global = {
    backendRef: { name: 'missing', port: 80 },
    domain: 'd',
    descriptors: [{ entries: [{ name: 'k', expression: '"v"' }] }],
  }
  const REFUSED = { authorization: { rules: [{ deny: 'true' }] } }
  const KEPT = {
    localRateLimit: [{ maxTokens: 10, tokensPerFill: 10, fillInterval: '1s', type: 'requests' }],
  }

  test('a limit with a missing service rejects requests, even next to a local limit', async () => {
    const { policies, losses } = await policy({ rateLimit: { local, global } })
    expect(policies).toEqual([KEPT, REFUSED])
    expect(losses).toContainEqual(expect.stringContaining('`rateLimit` of ProxyPolicy'))
  })

  test('a variant with a missing service also rejects requests', async () => {
    const conditional = [{ condition: 'request.path == "/a"', policy: { global } }, { policy: { local } }]
    const { policies } = await policy({ rateLimit: { conditional } })
    expect(policies).toContainEqual(REFUSED)
  })

  test('local limits alone translate without loss', async () => {
    expect(await policy({ rateLimit: { local } })).toEqual({ findings: [], losses: [], policies: [KEPT] })
  })
})
