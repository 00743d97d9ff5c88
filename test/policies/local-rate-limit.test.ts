import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../src/http/exchange.ts'
import { localRateLimit } from '../../src/policies/local-rate-limit.ts'
import type { Hooks } from '../../src/policies/policy.ts'
import { compile, createWorld, exchange, fields, hooksOf, run } from './policy-fixture.ts'

const REFUSED = '429: rate limit exceeded'

/** `ok` or `429` for each of so many requests. */
async function send(hooks: Hooks, count: number, make: () => Exchange = exchange): Promise<string> {
  const out: string[] = []
  for (let i = 0; i < count; i++) out.push((await run(hooks, make())) === REFUSED ? '429' : 'ok')
  return out.join(' ')
}

function llmRequest(): Exchange {
  const x = exchange()
  x.backend = { name: 'ai', kind: 'ai', protocol: 'llm' }
  return x
}

/** A request that has used so many tokens when it ends. */
async function complete(hooks: Hooks, input: number, output: number): Promise<string> {
  const x = llmRequest()
  const answer = await run(hooks, x)
  if (answer === REFUSED) return '429'
  x.llm = { provider: 'p', streaming: true, requestModel: 'm', inputTokens: input, outputTokens: output }
  hooks.done?.(x)
  return 'ok'
}

describe('requests', () => {
  test('a bucket starts full and refills at whole intervals', async () => {
    const world = createWorld()
    const hooks = hooksOf(localRateLimit, [{ maxTokens: 3, tokensPerFill: 2, fillInterval: '10s' }], world)
    expect(await send(hooks, 4)).toBe('ok ok ok 429')
    world.clock.advance(9999)
    expect(await send(hooks, 1)).toBe('429')
    world.clock.advance(1)
    expect(await send(hooks, 3)).toBe('ok ok 429')
    world.clock.advance(60_000)
    expect(await send(hooks, 4)).toBe('ok ok ok 429')
  })

  test('get headers with the remaining quota, even when they pass', async () => {
    const world = createWorld()
    const hooks = hooksOf(localRateLimit, [{ maxTokens: 2, tokensPerFill: 2, fillInterval: '10s' }], world)
    const told = async () => {
      const x = exchange()
      await run(hooks, x)
      return fields(x.queuedHeaders)
    }
    world.clock.advance(2100)
    const about = (left: number, reset: number) => [
      'x-ratelimit-limit: 2',
      `x-ratelimit-remaining: ${left}`,
      `x-ratelimit-reset: ${reset}`,
    ]
    expect(await told()).toEqual(about(1, 7))
    expect(await told()).toEqual(about(0, 7))
    expect(await told()).toEqual(about(0, 7))
    world.clock.advance(7899)
    expect(await told()).toEqual(about(0, 0))
    world.clock.advance(1)
    expect(await told()).toEqual(about(1, 10))
  })

  test('must pass every entry, and the headers show the tightest one', async () => {
    const hooks = hooksOf(localRateLimit, [
      { maxTokens: 9, tokensPerFill: 1, fillInterval: '1h' },
      { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' },
    ])
    const x = exchange()
    await run(hooks, x)
    expect(fields(x.queuedHeaders)[0]).toBe('x-ratelimit-limit: 1')
    expect(await send(hooks, 1)).toBe('429')
  })

  test('rejected by one entry still consume from earlier ones', async () => {
    const world = createWorld()
    const hooks = hooksOf(
      localRateLimit,
      [
        { maxTokens: 2, tokensPerFill: 1, fillInterval: '1h' },
        { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' },
      ],
      world,
    )
    expect(await send(hooks, 2)).toBe('ok 429')
    world.clock.advance(1000)
    expect(await send(hooks, 1)).toBe('429')
  })

  test.each([
    [{ requests: 2, unit: 'Seconds' }, 1000, 'ok ok 429', 'ok ok 429'],
    [{ requests: 2, unit: 'minutes', burst: 1 }, 60_000, 'ok ok ok 429', 'ok ok 429'],
    [{ requests: 1, unit: 'Hours' }, 3_600_000, 'ok 429', 'ok 429'],
  ])('per unit: %j', async (entry, window, first, second) => {
    const world = createWorld()
    const hooks = hooksOf(localRateLimit, [entry], world)
    expect(await send(hooks, first.split(' ').length)).toBe(first)
    world.clock.advance(window - 1)
    expect(await send(hooks, 1)).toBe('429')
    world.clock.advance(1)
    expect(await send(hooks, second.split(' ').length)).toBe(second)
  })

  test('consumption survives a reload', async () => {
    const world = createWorld()
    const spec = [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1m' }]
    expect(await send(hooksOf(localRateLimit, spec, world), 1)).toBe('ok')
    expect(await send(hooksOf(localRateLimit, spec, world), 1)).toBe('429')
  })

  test('an empty bucket rejects everything', async () => {
    expect(await send(hooksOf(localRateLimit, [{ fillInterval: '1s' }]), 1)).toBe('429')
  })
})

describe('tokens', () => {
  const spec = [{ maxTokens: 100, tokensPerFill: 100, fillInterval: '1m', type: 'tokens' }]

  test('are counted when the response completes, and the call that exceeds the limit succeeds', async () => {
    const world = createWorld()
    const hooks = hooksOf(localRateLimit, spec, world)
    expect(await complete(hooks, 30, 30)).toBe('ok')
    expect(await complete(hooks, 500, 500)).toBe('ok')
    expect(await complete(hooks, 0, 0)).toBe('429')
    world.clock.advance(60_000)
    expect(await complete(hooks, 99, 0)).toBe('ok')
    expect(await complete(hooks, 1, 0)).toBe('ok')
    expect(await complete(hooks, 1, 0)).toBe('429')
  })

  test('overuse is carried over for the whole window', async () => {
    const world = createWorld()
    const hooks = hooksOf(localRateLimit, [{ tokens: 10, unit: 'Minutes', burst: 5 }], world)
    expect(await complete(hooks, 1000, 0)).toBe('ok')
    world.clock.advance(59_999)
    expect(await complete(hooks, 1, 0)).toBe('429')
    world.clock.advance(1)
    const x = llmRequest()
    await run(hooks, x)
    expect(fields(x.queuedHeaders).slice(0, 2)).toEqual(['x-ratelimit-limit: 15', 'x-ratelimit-remaining: 10'])
  })

  test('do not limit other traffic', async () => {
    const hooks = hooksOf(localRateLimit, [{ maxTokens: 0, fillInterval: '1s', type: 'tokens' }])
    expect(await send(hooks, 2)).toBe('ok ok')
    expect(await send(hooks, 1, llmRequest)).toBe('429')
  })

  test('are limited together with requests', async () => {
    const hooks = hooksOf(localRateLimit, [...spec, { requests: 1, unit: 'hours' }])
    expect(await complete(hooks, 1, 1)).toBe('ok')
    expect(await complete(hooks, 1, 1)).toBe('429')
  })
})

describe('conditional', () => {
  test('each entry has its own bucket', async () => {
    const hooks = hooksOf(localRateLimit, {
      conditional: [
        { condition: 'request.method == "POST"', maxTokens: 1, tokensPerFill: 1, fillInterval: '1m' },
        { requests: 2, unit: 'minutes' },
      ],
    })
    const post = () => exchange({ method: 'POST' })
    expect(await send(hooks, 2, post)).toBe('ok 429')
    expect(await send(hooks, 3)).toBe('ok ok 429')
  })

  test('tokens count against the selected entry', async () => {
    const entry = { maxTokens: 10, tokensPerFill: 10, fillInterval: '1m', type: 'tokens' }
    const hooks = hooksOf(localRateLimit, {
      conditional: [{ condition: 'request.headers["x-plan"] == "free"', ...entry }, entry],
    })
    expect(await complete(hooks, 50, 0)).toBe('ok')
    expect(await complete(hooks, 1, 0)).toBe('429')
    const free = exchange({ headers: ['x-plan', 'free'] })
    free.backend = { name: 'ai', kind: 'ai', protocol: 'llm' }
    expect(await run(hooks, free)).toBe('passed')
  })
})

const entry = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' }
test.each<[unknown, string]>([
  [[], 'GW109'],
  [Array(17).fill(entry), 'GW109'],
  [entry, 'GW101'],
  [{}, 'GW107'],
  [[{ maxTokens: 1 }], 'GW107 0'],
  [[{ ...entry, tokensPerFill: 2 }], 'GW111 0.tokensPerFill'],
  [[{ ...entry, fillInterval: '0s' }], 'GW111 0.fillInterval'],
  [[{ ...entry, fillInterval: 1 }], 'GW106 0.fillInterval'],
  [[{ ...entry, type: 'bytes' }], 'GW104 0.type'],
  [[{ ...entry, burst: 1 }], 'GW111 0.burst'],
  [[{ unit: 'Seconds' }], 'GW111 0.unit'],
  [[{ requests: 0, unit: 'Seconds' }], 'GW105 0.requests'],
  [[{ requests: 1, unit: 'Days' }], 'GW104 0.unit'],
  [[{ requests: 1, tokens: 1, unit: 'Hours' }], 'GW108 0.tokens'],
  [[{ requests: 1, unit: 'Hours', maxTokens: 1 }], 'GW111 0.maxTokens'],
  [{ conditional: [entry, entry] }, 'GW111 conditional.0'],
])('%j is rejected', (bad, finding) => {
  const { findings } = compile(localRateLimit, bad)
  expect(findings[0]).toContain(finding)
})
