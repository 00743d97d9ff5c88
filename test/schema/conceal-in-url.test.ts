import { expect, test } from 'vitest'
import { concealInUrl, withoutSecrets } from '../../src/schema/conceal-in-url.ts'

test.each([
  ['https://u:p@example.test/x', 'https://***@example.test/x'],
  ['https://token@example.test:8080', 'https://***@example.test:8080'],
  [
    'postgres://u:p%40q@db:5432/main?sslmode=require&password=p',
    'postgres://***@db:5432/main?sslmode=***&password=***',
  ],
  ['--url=https://u:p@x.test --other=ftp://v@y.test', '--url=https://***@x.test --other=ftp://***@y.test'],
  ['u:p@example.test:80', '***@example.test:80'],
  ['/mcp?key=a=b&flag&empty=#part?not=this', '/mcp?key=***&***&empty=#part?not=***'],
  ['https://a.test/?k=1?2&', 'https://a.test/?k=***&'],
])('redacts %s', (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown)
})

test.each([
  'https://example.test/@scope/package',
  '@modelcontextprotocol/server-everything',
  'mcp-server@latest',
  'npm:@scope/server',
  'someone@example.test',
  'What? Yes',
  'example.test:80',
  '[::1]:80',
  'unix:/run/a.sock',
  '',
])('leaves %s unchanged', text => {
  expect(withoutSecrets(text)).toBe(text)
})

test('the output is never longer than the input', () => {
  for (const part of ['a://', '?a', '?&', 'a:@', 'a:', '://@']) {
    const text = part.repeat(20_000)
    expect(concealInUrl(text, () => '').length).toBeLessThanOrEqual(text.length)
  }
})
