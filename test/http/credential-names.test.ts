import { describe, expect, test } from 'vitest'
import { CredentialPlaces } from '../../src/auth/credential-places.ts'
import { HeadSnapshots } from '../../src/engine/head-snapshot.ts'
import { HeaderList } from '../../src/http/headers.ts'

describe('well-known credential names', () => {
  const places = new CredentialPlaces()

  test.each([
    ['/a?api_key=s', '/a?api_key=<redacted>'],
    ['/a?x=1&Access_Token=s&y=2', '/a?x=1&Access_Token=<redacted>&y=2'],
    ['/a?api%5Fkey=s', '/a?api_key=<redacted>'],
    ['/a?X-Amz-Signature=s', '/a?X-Amz-Signature=<redacted>'],
    ['/a?page=2', '/a?page=2'],
    ['/api_key=s', '/api_key=s'],
  ])('are redacted in a query: %s', (path, shown) => expect(places.shown(path)).toBe(shown))

  test('are redacted in headers and in URLs inside headers', () => {
    const fields = [
      'X-Auth-Token',
      's',
      'Private-Token',
      's',
      'x-plain',
      'seen',
      'Location',
      'http://a/?code=s#access_token=s',
    ]
    const { headers } = new HeadSnapshots().response({ status: 200, headers: new HeaderList(fields) })
    expect(JSON.stringify(headers)).not.toContain('"s"')
    expect(headers).toContainEqual(['x-plain', 'seen'])
    expect(headers).toContainEqual(['Location', 'http://a/?code=<redacted>#<redacted>'])
  })
})
