import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const startBackend = () => startUpstream((req, res) => res.end(req.headers.authorization ?? 'none'))
const file = (host: string) =>
  `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${host}', policies: {backendAuth: copilot}}]}]}]}]`
const ask = async (url: string) => (await fetch(url, { headers: { authorization: 'Bearer of-the-client' } })).text()

/** A folder for the settings of programs, for the time of the test. */
async function settings(name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'copilot-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(dirname(join(folder, name)), { recursive: true })
  await writeFile(join(folder, name), text)
  return folder
}

const JSON_LOGIN = JSON.stringify({
  'example.com': { oauth_token: 'elsewhere' },
  'github.com.example.com': { oauth_token: 'elsewhere' },
  'github.com:Iv1.b507': { user: 'octocat', oauth_token: ' ghu_json\n' },
})
const YAML_LOGIN = `example.com:
    oauth_token: elsewhere
github.com:
    users:
        octocat:
            oauth_token: gho_yaml
    git_protocol: https
    user: octocat
`

test.each([
  ['github-copilot/hosts.json', JSON_LOGIN, 'ghu_json'],
  ['github-copilot/apps.json', JSON_LOGIN, 'ghu_json'],
  ['gh/hosts.yml', YAML_LOGIN, 'gho_yaml'],
])('reads the token from %s', async (name, text, token) => {
  await using backend = await startBackend()
  const env = { XDG_CONFIG_HOME: await settings(name, text) }
  await using gateway = await startGateway(file(backend.host), { env, logFilter: 'trace' })
  expect(await ask(gateway.url(8080))).toBe(`Bearer ${token}`)
  expect(JSON.stringify([gateway.gateway.snapshot, gateway.logged])).not.toContain(token)
})

test('an environment variable takes precedence over files', async () => {
  await using backend = await startBackend()
  const XDG_CONFIG_HOME = await settings('gh/hosts.yml', YAML_LOGIN)
  for (const name of ['GH_COPILOT_TOKEN', 'COPILOT_GITHUB_TOKEN']) {
    await using gateway = await startGateway(file(backend.host), { env: { XDG_CONFIG_HOME, [name]: ' ghu_env ' } })
    expect(await ask(gateway.url(8080))).toBe('Bearer ghu_env')
  }
})

test('picks up a new login without a gateway restart', async () => {
  const clock = new ManualClock()
  await using backend = await startBackend()
  const XDG_CONFIG_HOME = await settings('gh/hosts.yml', YAML_LOGIN)
  await using gateway = await startGateway(file(backend.host), { env: { XDG_CONFIG_HOME }, clock })
  expect(await ask(gateway.url(8080))).toBe('Bearer gho_yaml')
  await writeFile(join(XDG_CONFIG_HOME, 'gh/hosts.yml'), YAML_LOGIN.replace('gho_yaml', 'gho_next'))
  clock.advance(15_000)
  await expect.poll(() => ask(gateway.url(8080))).toBe('Bearer gho_next')
})

test.each([
  ['no user is signed in', '{}', /^backend authentication failed: no Copilot token: set GH_COPILOT_TOKEN/],
  ['the file is not JSON', '{"github.com": s3cr3t', /: the login of GitHub Copilot is not JSON$/],
  ['the token contains a line break', '{"github.com": {"oauth_token": "s3\\r\\ncr3t"}}', /has no token$/],
])('sends nothing when %s', async (_what, text, reason) => {
  await using backend = await startBackend()
  const env = { XDG_CONFIG_HOME: await settings('github-copilot/hosts.json', text) }
  await using gateway = await startGateway(file(backend.host), { env })
  expect(await ask(gateway.url(8080))).toMatch(reason)
  expect(backend.connections).toBe(0)
})
