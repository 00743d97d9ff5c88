import { describe, expect, test } from 'vitest'
import type { BackendContext } from '../../src/backends/backend.ts'
import { staticBackend } from '../../src/backends/static.ts'
import { type Attempt, bodyOf, type Exchange } from '../../src/http/exchange.ts'
import { discard, type ResponseHandler, type Target, type UpstreamRequest } from '../../src/http/transport.ts'
import type { UpstreamSettings } from '../../src/policies/policy.ts'
import { parseHostPort } from '../../src/schema/scalars.ts'
import { createWorld, exchange } from '../policies/policy-fixture.ts'

const ON: ResponseHandler = { head: () => discard, fail: () => {} }

interface Call {
  readonly target: Target
  readonly request: UpstreamRequest
  canceled: boolean
}

/** The call that one attempt makes. */
function callOf(host: string, settings: UpstreamSettings = {}, x: Exchange = exchange(), timeout?: number): Call {
  const calls: Call[] = []
  const { runtime } = createWorld()
  const transport = {
    close: async () => {},
    dispatch(target: Target, request: UpstreamRequest) {
      const call = { target, request, canceled: false }
      calls.push(call)
      return {
        cancel() {
          call.canceled = true
        },
      }
    },
  }
  const spec = parseHostPort(host)
  if (typeof spec === 'string') throw new Error(spec)
  const ctx = { key: 'k', name: 'n', settings, runtime: { ...runtime, transport } } as unknown as BackendContext
  const attempt: Attempt = { index: 0, target: 'n', startedAt: 0, ...(timeout === undefined ? {} : { timeout }) }
  staticBackend.compile(spec, ctx).send(x, attempt, ON)
  return calls[0]!
}

describe('backend authority', () => {
  test.each<[string, UpstreamSettings, string]>([
    ['b.example.com:8080', {}, 'b.example.com:8080'],
    ['b.example.com:80', {}, 'b.example.com'],
    ['b.example.com:443', { tls: {} }, 'b.example.com'],
    ['b.example.com:443', {}, 'b.example.com:443'],
    ['127.0.0.1:8080', {}, 'api.example.com'],
    ['[::1]:8080', {}, 'api.example.com'],
    ['unix:/run/b.sock', {}, 'api.example.com'],
  ])('%s %j: %s', (host, settings, authority) => expect(callOf(host, settings).request.authority).toBe(authority))

  test('a policy that sets it takes precedence', () => {
    const x = exchange({ authority: 'fixed.example.com' })
    x.authorityFixed = true
    expect(callOf('b.example.com:8080', {}, x).request.authority).toBe('fixed.example.com')
  })
})

test('method, path, fields and body are forwarded unchanged', () => {
  const x = exchange({ method: 'POST', path: '/a%2Fb?q=%20', headers: ['X-A', '1', 'x-a', '2'], body: 'text' })
  const { request } = callOf('127.0.0.1:1', {}, x)
  expect([request.method, request.path, request.headers.raw]).toEqual([
    'POST',
    '/a%2Fb?q=%20',
    ['X-A', '1', 'x-a', '2'],
  ])
  expect(String(request.body)).toBe('text')
  expect('upgrade' in request).toBe(false)
})

test('an upgrade is requested', () => {
  const x = exchange()
  x.upgrade = 'websocket'
  expect(callOf('127.0.0.1:1', {}, x).request.upgrade).toBe('websocket')
})

test.each<[UpstreamSettings, number | undefined, number]>([
  [{}, undefined, 0],
  [{}, 300, 300],
  [{ requestTimeout: 100 }, 300, 100],
])('timeout for settings %j on a route with %j: %j', (settings, route, expected) => {
  expect(callOf('127.0.0.1:1', settings, exchange(), route).request.timeout).toBe(expected)
})

test('a client disconnect cancels the call', () => {
  const x = exchange()
  const call = callOf('127.0.0.1:1', {}, x)
  expect(call.canceled).toBe(false)
  x.abort()
  expect(call.canceled).toBe(true)
})

describe('connection target', () => {
  test('carries the settings', () => {
    const settings = { tls: { servername: 's' }, connectTimeout: 5, version: '2', keepAlive: false } as const
    expect(callOf('b.example.com:443', settings).target).toMatchObject({
      host: 'b.example.com',
      port: 443,
      named: true,
      ...settings,
    })
    expect(callOf('[::1]:80').target).toMatchObject({ host: '::1', port: 80, named: false, connectTimeout: 10_000 })
    expect(callOf('unix:/run/b.sock').target).toMatchObject({ unixPath: '/run/b.sock', port: 0, named: false })
  })

  test('connections are shared only between identical targets and settings', () => {
    const key = (host: string, settings: UpstreamSettings = {}) => callOf(host, settings).target.key
    expect(key('a:1')).toBe(key('a:1'))
    const others = [
      key('a:1'),
      key('a:2'),
      key('b:1'),
      key('unix:/a'),
      key('a:1', { tls: {} }),
      key('a:1', { version: '2' }),
    ]
    others.push(key('a:1', { tls: { insecureSkipVerify: 'All' } }), key('a:1', { connectTimeout: 1 }))
    expect(new Set(others).size).toBe(others.length)
    expect(key('a:1', { tls: { key: 'private' } })).not.toContain('private')
  })
})

test('a body read before is sent from memory, and can be sent again', () => {
  const x = exchange({ method: 'POST', body: 'text' })
  x.body = bodyOf(Buffer.from('changed'))
  expect(String(callOf('127.0.0.1:1', {}, x).request.body)).toBe('changed')
  expect(String(callOf('127.0.0.1:1', {}, x).request.body)).toBe('changed')
})
