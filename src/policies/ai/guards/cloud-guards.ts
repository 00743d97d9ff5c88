// Guard services of cloud providers: their endpoints, and default credentials unless configured.
import type { Origin, Path } from '../../../diagnostics/diagnostic.ts'
import type { Guard, Refusal } from '../../../llm/guards/guard.ts'
import type { Scope } from '../../../llm/guards/texts.ts'
import type { HttpAddress } from '../../../schema/scalars.ts'
import type { CompileContext } from '../../policy.ts'
import type { TargetPolicies } from '../../upstream/policy-target.ts'
import { guardService } from './ask-guard.ts'
import { type BedrockSpec, bedrockGuard } from './bedrock-guard.ts'
import { type ContentSafetySpec, contentSafetyGuard } from './content-safety-guard.ts'
import { type ModelArmorSpec, modelArmorGuard } from './model-armor-guard.ts'
import { moderationGuard } from './moderation-guard.ts'

interface WithPolicies {
  readonly policies?: TargetPolicies
}

export interface CloudGuardSpec {
  readonly openAIModeration?: WithPolicies & { readonly model: string }
  readonly bedrockGuardrails?: WithPolicies & BedrockSpec & { readonly region: string }
  readonly googleModelArmor?: WithPolicies & ModelArmorSpec
  readonly azureContentSafety?: WithPolicies & ContentSafetySpec & { readonly endpoint: HttpAddress }
}

interface Place {
  readonly ctx: CompileContext
  readonly at: Path
  readonly origins: readonly Origin[]
  readonly scope: ReadonlySet<Scope>
  readonly refusal: Refusal
}

/** Undefined if there is none, or its service has a finding. */
export function compileCloudGuard(spec: CloudGuardSpec, place: Place): Guard | undefined {
  const {
    openAIModeration: openAI,
    bedrockGuardrails: bedrock,
    googleModelArmor: google,
    azureContentSafety: azure,
  } = spec
  const { origins, scope, refusal } = place
  const about = (name: string) => ({ name, origins, scope })
  if (openAI) {
    const service = serviceAt('openAIModeration', httpsHost('api.openai.com'), openAI.policies, undefined, place)
    return service && moderationGuard(about('openAIModeration'), openAI.model, service, refusal)
  }
  if (bedrock) {
    const host = httpsHost(`bedrock-runtime.${bedrock.region}.amazonaws.com`)
    const service = serviceAt('bedrockGuardrails', host, bedrock.policies, { aws: {} }, place)
    return service && bedrockGuard(about('bedrockGuardrails'), bedrock, service, refusal)
  }
  if (google) {
    const host = httpsHost(`modelarmor.${google.location}.rep.googleapis.com`)
    const service = serviceAt('googleModelArmor', host, google.policies, { gcp: { type: 'accessToken' } }, place)
    return service && modelArmorGuard(about('googleModelArmor'), google, service, refusal)
  }
  if (azure === undefined) return undefined
  const service = serviceAt('azureContentSafety', azure.endpoint, azure.policies, { azure: { implicit: {} } }, place)
  return service && contentSafetyGuard(about('azureContentSafety'), azure, service, refusal)
}

function httpsHost(host: string): HttpAddress {
  return { scheme: 'https', host, port: 443 }
}

/** `credential`: taken from the environment, unless the policies override it. */
function serviceAt(
  name: string,
  host: HttpAddress,
  policies: TargetPolicies | undefined,
  credential: object | undefined,
  { ctx, at }: Place,
) {
  const specs = { ...(credential ? { backendAuth: credential } : {}), ...policies }
  const callee = ctx.callee?.({ host }, [...at, name], { specs, at: [...at, name, 'policies'] })
  return callee && guardService(name, callee, policies, ctx.runtime)
}
