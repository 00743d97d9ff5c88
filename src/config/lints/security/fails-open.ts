import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Lint } from '../lint.ts'
import { promptGuards } from '../sites.ts'

/** GW508: a check that admits everything while its service is unavailable. */
export const failsOpen: Lint = file => {
  const report = (holder: object, what: string) => {
    const path: Path = [...file.pathOf(holder), 'failureMode']
    file.report({
      code: 'GW508',
      message: `${what} lets everything pass when its service cannot be asked`,
      path,
      at: 'value',
      label: 'anyone who can stop the service gets through',
      help: 'write `failClosed`, or `deny`, unless availability matters more than the check',
    })
  }
  for (const { policies } of file.sites) {
    const { extAuthz, mcpGuardrails } = policies
    for (const entry of extAuthz ? [extAuthz, ...(extAuthz.conditional ?? [])] : [])
      if (entry.failureMode === 'allow') report(entry, 'the authorization')
    for (const processor of mcpGuardrails?.processors ?? [])
      if (processor.failureMode === 'failOpen') report(processor, 'the MCP guardrail')
  }
  const network = file.config.frontendPolicies?.networkExtAuthz
  if (network?.failureMode === 'allow') report(network, 'the authorization of connections')
  for (const guard of promptGuards(file.config, file.sites))
    for (const { webhook } of [...(guard.request ?? []), ...(guard.response ?? [])])
      if (webhook?.failureMode === 'failOpen') report(webhook, 'the guard')
}
