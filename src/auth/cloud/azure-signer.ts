import { hash } from 'node:crypto'
import type { Target } from '../../http/transport.ts'
import { Fresh } from '../fresh.ts'
import { type AzureIdentity, azureToken } from './azure-tokens.ts'
import { bearerSigner } from './bearer-signer.ts'
import type { CloudContext } from './cloud-context.ts'

const SCOPE = 'https://cognitiveservices.azure.com/.default'
const FOUNDRY_SCOPE = 'https://ai.azure.com/.default'

/** `foundry`: the target is a Foundry resource, whatever its address; if unset, its host decides. */
export interface AzureSigning {
  readonly identity: AzureIdentity
  readonly foundry?: boolean
}

/** Adds a token of Entra ID to outgoing requests. Equal identities share tokens. */
export function azureSigner({ identity, foundry }: AzureSigning, cloud: CloudContext): NonNullable<Target['sign']> {
  const { runtime, env } = cloud
  const name =
    identity.kind === 'clientSecret' ? hash('sha256', JSON.stringify(identity), 'base64url') : JSON.stringify(identity)
  const held = (scope: string) =>
    runtime.state.get(`Azure token ${name} ${scope}`, () => new Fresh<string>(runtime.clock))
  const plain = held(SCOPE)
  const ofFoundry = held(FOUNDRY_SCOPE)
  return bearerSigner((request, { host }) => {
    const special = foundry ?? host.endsWith('.services.ai.azure.com')
    const scope = special ? FOUNDRY_SCOPE : SCOPE
    return (special ? ofFoundry : plain).get(awaited =>
      azureToken({ runtime, env, trace: awaited ? request.signedFor?.trace : undefined }, identity, scope),
    )
  })
}
