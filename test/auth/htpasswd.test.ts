import { describe, expect, test } from 'vitest'
import { PasswordVerifier, parsePasswordFile } from '../../src/auth/htpasswd.ts'

/** Made with `openssl passwd -apr1` and `-1`, `openssl sha1` and Perl's `crypt`. */
const FILE = `# users
bcrypt:$2y$05$LMZ.8WGNqvagmtJz2Gw6VuiE6khXc2zc0FDTHrfWJyLT66HM8BMAa
sha1:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=

apr1:$apr1$lZL6V/ci$sQw6g73nRuoOIj/gnD18Z.
long:$apr1$abcdefgh$s/6GDwvmj6gPo2PUPe3D51
md5:$1$xacQMJcV$6CkycKgAqs7aTcIi3RMxr/
des:rqXexS6ZhobKA\r
`

describe('parsePasswordFile', () => {
  test('reads users, comments and blank lines', () => {
    const { users, problems } = parsePasswordFile(FILE)
    expect([...users.keys()]).toEqual(['bcrypt', 'sha1', 'apr1', 'long', 'md5', 'des'])
    expect(problems).toEqual([])
  })

  test.each([
    ['user', 'is not `user:hash`'],
    [':{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=', 'is not `user:hash`'],
    ['user:hunter2', 'has an unsupported password hash'],
    ['user:$6$salt$hash', 'has an unsupported password hash'],
    ['user:{PLAIN}hunter2', 'has an unsupported password hash'],
    ['user:', 'has an unsupported password hash'],
  ])('%s: skips the line and reports it without showing its content', (line, problem) => {
    const { users, problems } = parsePasswordFile(`ok:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n${line}`)
    expect([...users.keys()]).toEqual(['ok'])
    expect(problems).toEqual([expect.stringContaining(`line 2 ${problem}`)])
    expect(problems.join()).not.toMatch(/hunter2/)
  })

  test('reports a duplicate user', () => {
    const line = 'a:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='
    expect(parsePasswordFile(`${line}\n${line}`).problems).toEqual([
      expect.stringContaining('line 2 repeats an earlier user'),
    ])
  })
})

describe('PasswordVerifier', () => {
  const verifier = new PasswordVerifier(parsePasswordFile(FILE).users)
  test.each([
    ['bcrypt', 'agentgateway', true],
    ['bcrypt', 'agentgatewaY', false],
    ['sha1', 'password', true],
    ['sha1', 'Password', false],
    ['apr1', 'myPassword', true],
    ['apr1', 'mypassword', false],
    ['long', 'a very long password that is over sixteen bytes: ü', true],
    ['md5', 'password', true],
    ['md5', 'passwor', false],
    ['des', 'myPassword', true],
    ['des', 'yourPassword', false],
    ['nobody', 'agentgateway', false],
    ['', '', false],
    ['__proto__', 'x', false],
    ['sha1', 'x'.repeat(100_000), false],
  ])('%s with %s: %s', async (user, password, right) => {
    expect(await verifier.verify(user, password)).toBe(right)
  })

  test('answers immediately for a previously accepted password, and only for that one', async () => {
    await verifier.verify('bcrypt', 'agentgateway')
    expect(verifier.verify('bcrypt', 'agentgateway')).toBe(true)
    expect(verifier.verify('bcryptagent', 'gateway')).not.toBe(true)
    expect(await verifier.verify('bcrypt', 'agentgateway ')).toBe(false)
  })
})
