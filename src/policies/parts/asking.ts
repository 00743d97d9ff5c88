import type { Callee } from '../../calls/outcall.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { type ErrorCode, GatewayError } from '../../http/errors.ts'
import type { CalleeSpec, CompileContext, Hooks } from '../policy.ts'
import { type Conditioned, compileConditional } from './conditional.ts'

type Asking<S> = S & { readonly conditional?: readonly Conditioned<S>[] | undefined }

/**
 * The hooks of a policy that calls a service, or of its conditional variants. `refusal` is the response if the service
 * is invalid, which has been reported.
 */
export function compileAsking<S extends CalleeSpec>(
  spec: Asking<S>,
  ctx: CompileContext,
  refusal: ErrorCode,
  hooksOf: (spec: S, callee: Callee, at: Path) => Hooks,
): Hooks {
  const compile = (entry: S, at: Path): Hooks => {
    const callee = ctx.callee?.(entry, at)
    if (callee) return hooksOf(entry, callee, at)
    return {
      request() {
        throw new GatewayError(refusal)
      },
    }
  }
  if (spec.conditional === undefined) return compile(spec, [])
  return compileConditional(spec.conditional, 'guards', ctx.limits, (entry, i) => compile(entry, ['conditional', i]))
}
