import { expect, test } from 'vitest'
import { HeadSnapshots } from '../../src/engine/head-snapshot.ts'
import { HeaderList } from '../../src/http/headers.ts'

const secrets = [
  'Authorization',
  'COOKIE',
  'Proxy-Authorization',
  'x-api-key',
  'Api-Key',
  'x-goog-api-key',
  'X-Team-Token',
]

test('redacts credentials in any letter case and keeps everything else unchanged', () => {
  const raw = [...secrets.flatMap(name => [name, 'hunter2']), 'X-Multi', 'a', 'x-multi', 'b', 'Accept', '']
  const shots = new HeadSnapshots(undefined, ['x-team-token'])
  const head = {
    method: 'GET',
    scheme: 'https' as const,
    authority: 'h:8443',
    path: '/p?q=1',
    headers: new HeaderList(raw),
  }
  const shot = shots.request(head)
  expect(JSON.stringify(shot)).not.toContain('hunter2')
  expect(shot).toMatchObject({ method: 'GET', url: 'https://h:8443/p?q=1' })
  expect(shot.headers.slice(0, 2)).toEqual([
    ['Authorization', '<redacted>'],
    ['COOKIE', '<redacted>'],
  ])
  expect(shot.headers.slice(-3)).toEqual([
    ['X-Multi', 'a'],
    ['x-multi', 'b'],
    ['Accept', ''],
  ])
})

test('later changes to the headers do not alter a snapshot', () => {
  const headers = new HeaderList(['Set-Cookie', 'session=hunter2'])
  const shot = new HeadSnapshots().response({ status: 204, headers })
  headers.set('x-later', '1')
  expect(shot).toEqual({ status: 204, headers: [['Set-Cookie', '<redacted>']] })
})
