// h2spec, the conformance test of HTTP/2, against the gateway over plaintext and TLS.
import { isInstalled, resultsOf } from '../h2spec.mjs'

export const name = 'h2spec'
export const title = 'h2spec (summerwind/h2spec), against a direct response'

export async function needs() {
  if (await isInstalled()) return undefined
  return 'there is no h2spec; `go install github.com/summerwind/h2spec/cmd/h2spec@latest`, or set H2SPEC'
}

export async function run() {
  const outcome = { passed: 0, known: [], failed: [] }
  for (const { kind, passed, failed, unknown, known } of await resultsOf()) {
    outcome.passed += passed
    for (const each of failed) {
      const reason = known.find(([text]) => each.includes(text))?.[1]
      if (reason === undefined) outcome.failed.push({ case: `${kind}: ${each}`, reason: 'not passed' })
      else outcome.known.push({ case: `${kind}: ${each}`, reason })
    }
    if (passed === 0 && unknown.length === 0) outcome.failed.push({ case: kind, reason: 'h2spec ran no test' })
  }
  return outcome
}
