import { expect, test } from 'vitest'
import { derivedFrom, ownExchange } from '../../src/calls/derived-exchange.ts'
import { type Called, makeCall } from '../../src/calls/outcall.ts'
import { type CallSteps, type MomentHooks, NO_STEPS, type PolicyStep } from '../../src/calls/step.ts'
import { bodyOf, emptyHead } from '../../src/http/exchange.ts'
import { HeaderList } from '../../src/http/headers.ts'
import type { CallPurpose } from '../../src/trace/span.ts'
import { ManualClock } from '../engine/manual-clock.ts'

const PRIMARY: CallPurpose = { kind: 'Primary', subtype: 'Llm' }
const CHECK: CallPurpose = { kind: 'Policy', subtype: 'ExtAuthz' }

function step(policy: string, hooks: MomentHooks): PolicyStep {
  return { policy, hooks, origins: [] }
}

/** A call to somebody who answers at once with what it was asked. Gives what the caller hears. */
async function call(steps: Partial<CallSteps>, purpose = PRIMARY): Promise<string> {
  const to: Called = {
    name: 'test',
    steps: { ...NO_STEPS, ...steps },
    send(x, _attempt, on) {
      const sink = on.head(200, new HeaderList(['x-asked', x.request.headers.get('x-set') ?? 'nothing']))
      sink.write(Buffer.from('body'))
      sink.end()
    },
  }
  const client = ownExchange()
  const request = { ...emptyHead(), headers: new HeaderList() }
  const x = derivedFrom(client, { request, body: bodyOf(undefined), purpose, scope: 'test' })
  const { promise, resolve } = Promise.withResolvers<string>()
  makeCall(
    x,
    to,
    { purpose, timeout: 0 },
    { clock: new ManualClock() },
    {
      head(status, headers) {
        let body = ''
        return {
          write: chunk => {
            body += chunk.toString()
            return true
          },
          end: () => resolve(`${status} ${headers.raw.join(' ')} ${body}`),
          fail: error => resolve(error.message),
          onDrain() {},
        }
      },
      fail: error => resolve(error.message),
    },
  )
  return promise
}

test('policies run before the call, synchronous or not', async () => {
  const sets = (value: string): MomentHooks => ({ request: x => void x.request.headers.set('x-set', value) })
  expect(await call({ attempt: [step('now', sets('1'))] })).toBe('200 x-asked 1 body')
  const later: MomentHooks = { request: async x => void x.request.headers.set('x-set', '2') }
  expect(await call({ attempt: [step('later', later)] })).toBe('200 x-asked 2 body')
})

test('asynchronous response policies delay the body without losing any of it', async () => {
  const later: MomentHooks = {
    async response(x) {
      await Promise.resolve()
      x.response?.headers.set('x-more', '1')
    },
  }
  expect(await call({ response: [step('later', later)] })).toBe('200 x-asked nothing x-more 1 body')
})

test('a body changed in transit has no length', async () => {
  const upper: MomentHooks = {
    responseBody: () => ({ chunk: data => Buffer.from(data.toString().toUpperCase()), end: () => Buffer.from('!') }),
  }
  expect(await call({ responseBody: [step('upper', upper)] })).toBe('200 x-asked nothing BODY!')
})

test('a policy reply replaces a provider’s answer, but never a service’s', async () => {
  const replies: MomentHooks = {
    request: () => ({ status: 200, headers: [], body: 'allowed', reason: 'DirectResponse' }),
  }
  expect(await call({ attempt: [step('replies', replies)] })).toBe('200 content-length 7 allowed')
  expect(await call({ attempt: [step('replies', replies)] }, CHECK)).toBe('upstream call failed: a policy answered 200')
})

test('a failing policy fails the call', async () => {
  const fails = () => {
    throw new Error('broken')
  }
  expect(await call({ attempt: [step('fails', { request: fails })] })).toBe('broken')
  expect(await call({ attempt: [step('fails', { request: async () => fails() })] })).toBe('broken')
  expect(await call({ response: [step('fails', { response: fails })] })).toBe('broken')
})
