import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Guard, GuardPhase, GuardSet, Refusal } from '../../../llm/guards/guard.ts'
import type { Scope } from '../../../llm/guards/texts.ts'
import type { Infer } from '../../../schema/builder.ts'
import type { promptGuard } from '../../external/prompt-guard.ts'
import type { CompileContext } from '../../policy.ts'
import { guardService } from './ask-guard.ts'
import { compileCloudGuard } from './cloud-guards.ts'
import { RegexGuard } from './regex-guard.ts'
import { webhookGuard } from './webhook-guard.ts'

export type PromptGuardSpec = Infer<typeof promptGuard>
type GuardSpec = NonNullable<PromptGuardSpec['request']>[number] | NonNullable<PromptGuardSpec['response']>[number]

/** `at`: path of the spec, relative to that of the policy. A guard with a finding is omitted. */
export function compileGuards(spec: PromptGuardSpec, ctx: CompileContext, at: Path = []): GuardSet {
  const compile = (specs: readonly GuardSpec[] | undefined, phase: GuardPhase) =>
    (specs ?? []).flatMap((each, i) => compileGuard(each, phase, ctx, [...at, phase, i]) ?? [])
  return {
    streaming: spec.streaming === 'Enabled',
    request: compile(spec.request, 'request'),
    response: compile(spec.response, 'response'),
  }
}

function compileGuard(spec: GuardSpec, phase: GuardPhase, ctx: CompileContext, at: Path): Guard | undefined {
  const origins = [ctx.originOf(at)]
  const scope = new Set<Scope>(spec.scope ?? DEFAULT_SCOPE[phase])
  const refusal = refusalOf(spec.rejection, phase)
  if (spec.regex) {
    // Responses are always masked (specification, "Guardrails").
    const refuses = spec.regex.action === 'reject' && phase === 'request'
    return new RegexGuard(spec.regex).guard({ name: 'regex', origins, scope }, refuses ? refusal : undefined)
  }
  if (spec.webhook) {
    const { target } = spec.webhook
    const callee = ctx.callee?.(target, [...at, 'webhook', 'target'])
    const about = { name: 'webhook', origins, scope }
    return callee && webhookGuard(about, spec.webhook, guardService('webhook', callee, target.policies, ctx.runtime))
  }
  return compileCloudGuard(spec, { ctx, at, origins, scope, refusal })
}

const DEFAULT_SCOPE: Readonly<Record<GuardPhase, readonly Scope[]>> = {
  request: ['systemPrompt', 'messages'],
  response: ['messages'],
}

/** The client's response: without a content type, as in the public system, unless the configuration sets one. */
function refusalOf(rejection: GuardSpec['rejection'], phase: GuardPhase): Refusal {
  const { body, status = 403, headers } = rejection ?? {}
  const fields = [...Object.entries(headers?.set ?? {}), ...Object.entries(headers?.add ?? {})]
  return { status, body: body ?? `The ${phase} was rejected due to inappropriate content`, headers: fields.flat() }
}
