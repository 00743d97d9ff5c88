import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { check } from '../../src/tools/check/check.ts'
import { serve } from '../../src/tools/serve/serve.ts'

const root = join(import.meta.dirname, '../../fixtures')
const files = ['ok', 'err'].flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.yaml'))
    .map(name => join(folder, name)),
)
/** Every port of a fixture becomes a free one, so that what starts cannot meet another test. */
const env = { ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' }

describe('a file that validates in tier env starts, and any other is refused', () => {
  test.each(files)('%s', async file => {
    const options = { cwd: root, env, stdin: process.stdin }
    const { report } = await check([file], { ...options, tier: 'env' })
    const clean = report.diagnostics.every(d => d.severity !== 'error' && !d.code.startsWith('GW6'))
    let refused = false
    const serving = await serve({
      ...options,
      file,
      log: { write: () => true },
      version: 'test',
      watch: false,
      portFor: () => 0,
      refused: () => {
        refused = true
      },
    })
    await serving?.stop()
    expect({ started: serving !== undefined, refused }).toEqual({ started: clean, refused: !clean })
  })
})
