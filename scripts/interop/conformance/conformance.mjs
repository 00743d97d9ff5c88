// npm run interop:conformance: the official conformance suite of the Gateway API against `gwctl run --kube`. With
// `-- --record` the report is kept as docs/conformance.yaml and its counts go into docs/interop.md. Needs Go once, and a
// harness (CONFORMANCE_HARNESS) with build.sh and run.sh; PROFILES, TESTS, FEATURES and QUICK go on to it.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { replaceSection } from '../section.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const { env } = process
const HARNESS = env.CONFORMANCE_HARNESS ?? join(root, '..', 'shared', 'harness', 'conformance')
const KUBE_HARNESS = env.KUBE_HARNESS ?? join(HARNESS, '..', 'kube')
const BIN = env.CONFORMANCE_BIN ?? join(tmpdir(), 'gwctl-conformance-bin')
const KUBE_BIN = env.KUBE_BIN ?? join(tmpdir(), 'gwctl-kube-bin')
const DATA = env.CONFORMANCE_DATA ?? join(tmpdir(), 'gwctl-conformance')
const PROFILES = env.PROFILES ?? 'GATEWAY-HTTP,GATEWAY-GRPC,GATEWAY-TLS,GATEWAY-TCP,GATEWAY-UDP'

async function main() {
  if (!existsSync(HARNESS)) {
    process.stdout.write(`no harness at ${HARNESS}: nothing was tested (set CONFORMANCE_HARNESS)\n`)
    return
  }
  const build = (harness, bin) => execFileSync('sh', [join(harness, 'build.sh'), bin], { stdio: 'inherit' })
  build(KUBE_HARNESS, KUBE_BIN)
  build(HARNESS, BIN)
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const { status } = spawnSync('sh', [join(HARNESS, 'run.sh'), BIN, KUBE_BIN, DATA], {
    stdio: 'inherit',
    env: {
      ...env,
      PROFILES,
      KUBE_HARNESS,
      CONTROLLER: join(root, 'scripts/interop/conformance/controller.sh'),
      FEATURES: env.FEATURES ?? 'class',
      VERSION: version,
    },
  })
  process.exitCode = status ?? 1
  if (!process.argv.includes('--record')) return
  await copyFile(join(DATA, 'report.yaml'), join(root, 'docs/conformance.yaml'))
  const summary = await readFile(join(DATA, 'summary.txt'), 'utf8')
  await replaceSection(
    join(root, 'docs/interop.md'),
    'conformance',
    'npm run interop:conformance -- --record',
    text(summary),
  )
}

function text(summary) {
  const of = verdict => [...summary.matchAll(new RegExp(`^${verdict} +[\\d.]+s`, 'gm'))].length
  const count = `${of('PASS')} tests passed, ${of('FAIL')} failed, ${of('SKIP')} were skipped (of features that it does not claim)`
  return `## Gateway API

The conformance suite of the Gateway API (profiles ${PROFILES.replaceAll(',', ', ')}, with every feature that the GatewayClass names) against \`gwctl run --kube\` and a kube-apiserver: ${count}. [The report](conformance.yaml) is as the suite writes it. A small DNS server stands in for the Pods of CoreDNS that UDPRoute asks: the harness runs no other images than that of the suite.
`
}

await main()
