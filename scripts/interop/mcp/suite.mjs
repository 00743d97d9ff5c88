// The official conformance suite of MCP, installed beside the project, and what it says of one endpoint.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'

const PACKAGES = {
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  '@modelcontextprotocol/client': '2.4.0',
  '@modelcontextprotocol/server': '2.4.0',
  '@modelcontextprotocol/sdk': '1.32.2',
}
export const ERAS = ['2025-11-25', '2026-07-28']
/** ms for one run of the whole suite. */
const LIMIT = 15 * 60_000
const run = promisify(execFile)

/** Where the packages are; MCP_LAB keeps them from one run to the next. */
export function install() {
  return installInto(process.env.MCP_LAB ?? join(tmpdir(), 'gwctl-mcp-lab'), PACKAGES)
}

/** The folder, with the packages in it; nothing is fetched where they are there already. */
export async function installInto(folder, packages) {
  mkdirSync(folder, { recursive: true })
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: packages })
  const file = join(folder, 'package.json')
  if (readIfThere(file) !== manifest) {
    writeFileSync(file, manifest)
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  }
  return folder
}

/** Which scenarios one era asks for. */
export function required(lab, era, leg = 'server') {
  return parse(
    readFileSync(join(lab, 'node_modules/@modelcontextprotocol/conformance/requirements', `${era}.yaml`), 'utf8'),
  )[leg]
}

/** Runs the scored scenarios of one era; `failed` by name, with the checks that did not pass. */
export async function conformance(lab, era, args, { leg = 'server', env = {} } = {}) {
  const out = mkdtempSync(join(tmpdir(), 'gwctl-mcp-'))
  const bin = join(lab, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const command = [bin, leg, ...args, '--requirements', era, '-o', out]
  const options = { cwd: lab, timeout: LIMIT, maxBuffer: 1 << 28, env: { ...process.env, ...env } }
  const { stdout } = await run(process.execPath, command, options).catch(error => error)
  rmSync(out, { recursive: true, force: true })
  const scenarios = required(lab, era, leg)
  const passed = scenarios.filter(name => stdout?.includes(`✓ ${name}: `))
  return { passed: passed.length, total: scenarios.length, failed: scenarios.filter(name => !passed.includes(name)) }
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
