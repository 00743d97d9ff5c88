import { describe, expect, test } from 'vitest'
import { proxyHeaderReader } from '../../../src/engine/inbound/proxy-protocol.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { rawRequest } from '../../helpers/upstream.ts'

const request = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const signature = '\r\n\r\n\0\r\nQUIT\n'
const v2 = (command: number, family: number, payload: readonly number[]) =>
  `${signature}${String.fromCharCode(0x20 | command, family, payload.length >> 8, payload.length & 255, ...payload)}`
const ipv4 = [9, 9, 9, 9, 8, 8, 8, 8, 4, 210, 1, 187]
const ipv6 = [...Array(15).fill(0), 1, 0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 5, 4, 210, 1, 187]

const file = (policy: string) => `
frontendPolicies: {${policy}}
binds:
- port: 8080
  listeners:
  - routes:
    - policies:
        transformations: {response: {set: {
          x-from: 'source.address + " " + string(source.port)',
          x-raw: 'source.rawAddress',
          x-to: 'destination.address + " " + string(destination.port)'}}}
        directResponse: {status: 200, body: ok}
`
async function ask(policy: string, bytes: string) {
  await using gateway = await startGateway(file(policy))
  const answer = await rawRequest(gateway.url(8080), bytes).catch(() => '')
  const field = (name: string) => new RegExp(`${name}: (.*)\r\n`).exec(answer)?.[1]
  return answer === '' ? 'closed' : `${answer.slice(9, 12)} ${field('x-from')} to ${field('x-to')} by ${field('x-raw')}`
}

const strict = 'proxyProtocol: {}'
const any = 'proxyProtocol: {version: all}'
const optional = 'proxyProtocol: {version: all, mode: optional}'
const proxied = '200 9.9.9.9 1234 to 8.8.8.8 443 by 127.0.0.1'

describe('takes the addresses from the header', () => {
  test.each([
    ['version 1', any, 'PROXY TCP4 9.9.9.9 8.8.8.8 1234 443\r\n', proxied],
    ['version 1, IPv6', any, 'PROXY TCP6 ::1 2001:db8::5 1234 443\r\n', '200 ::1 1234 to 2001:db8::5 443 by 127.0.0.1'],
    ['version 2', strict, v2(1, 0x11, ipv4), proxied],
    ['version 2, IPv6', strict, v2(1, 0x21, ipv6), '200 ::1 1234 to 2001:db8::5 443 by 127.0.0.1'],
    ['version 2 with a trailing TLV', strict, v2(1, 0x11, [...ipv4, 3, 0, 4, 1, 2, 3, 4]), proxied],
    ['an optional header', optional, v2(1, 0x11, ipv4), proxied],
  ])('%s', async (_name, policy, header, expected) => {
    expect(await ask(policy, header + request)).toBe(expected)
  })

  test.each([
    ['an unknown protocol in version 1', any, 'PROXY UNKNOWN\r\n'],
    ['an unknown protocol with addresses', any, 'PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'],
    ['a LOCAL health check', strict, v2(0, 0, [])],
    ['a Unix socket', strict, v2(1, 0x31, Array(216).fill(0))],
    ['no header where it is optional', optional, ''],
  ])('except with %s', async (_name, policy, header) => {
    expect(await ask(policy, header + request)).toMatch(/^200 127\.0\.0\.1 \d+ to 127\.0\.0\.1 \d+ by 127\.0\.0\.1$/)
  })
})

describe('closes the connection without a response', () => {
  test.each([
    ['no header', strict, ''],
    ['version 1 where 2 is required', strict, 'PROXY TCP4 9.9.9.9 8.8.8.8 1234 443\r\n'],
    ['version 2 where 1 is required', 'proxyProtocol: {version: v1}', v2(1, 0x11, ipv4)],
    ['an address of the wrong family', any, 'PROXY TCP4 ::1 ::1 1 2\r\n'],
    ['a port too large', any, 'PROXY TCP4 1.1.1.1 2.2.2.2 65536 2\r\n'],
    ['extra data after the ports', any, 'PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n'],
    ['no address', any, 'PROXY TCP4\r\n'],
    ['an unterminated line', any, `PROXY TCP4 ${'1'.repeat(120)}`],
    ['truncated addresses', strict, v2(1, 0x11, [1, 2, 3, 4])],
    ['an unknown command', strict, v2(5, 0x11, ipv4)],
    ['a malformed header, even where it is optional', optional, 'PROXY TCP4 x y 1 2\r\n'],
  ])('%s', async (_name, policy, header) => {
    expect(await ask(policy, header + request)).toBe('closed')
  })
})

test('can be enabled for a single port', async () => {
  await using gateway = await startGateway(`
binds:
- {port: 8080, tunnelProtocol: proxy, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}
- {port: 8081, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}
`)
  expect(await rawRequest(gateway.url(8080), v2(1, 0x11, ipv4) + request)).toMatch(/^HTTP\/1\.1 200/)
  expect(await rawRequest(gateway.url(8080), request).catch(() => '')).toBe('')
  expect(await rawRequest(gateway.url(8081), request)).toMatch(/^HTTP\/1\.1 200/)
})

test('connection rules see the address from the header', async () => {
  const rules = `proxyProtocol: {}, networkAuthorization: {rules: ['source.address == "9.9.9.9"']}`
  expect(await ask(rules, v2(1, 0x11, ipv4) + request)).toBe(proxied)
  expect(await ask(rules, v2(1, 0x11, [7, ...ipv4.slice(1)]) + request)).toBe('closed')
  const deny = `networkAuthorization: {rules: [{deny: 'cidr("127.0.0.0/8").containsIP(source.address)'}]}`
  expect(await ask(deny, request)).toBe('closed')
})

test('parses a fragmented header without consuming the bytes after it', () => {
  const read = proxyHeaderReader({ v1: true, v2: true, optional: false })
  for (const header of [v2(1, 0x21, ipv6), 'PROXY TCP4 9.9.9.9 8.8.8.8 1234 443\r\n']) {
    const bytes = Buffer.from(`${header}GET /`, 'latin1')
    for (let end = 0; end < header.length; end++) expect(read(bytes.subarray(0, end))).toBe('more')
    expect(read(bytes)).toMatchObject({ consumed: header.length, value: { source: { port: 1234 } } })
  }
})
