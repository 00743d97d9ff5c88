import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import type { CompileContext } from '../../policy.ts'
import type { Processing, ProcessingRules } from './processing.ts'

/** Hooks that pass a request and its response through a service. */
export function processedBy(rules: ProcessingRules, failOpen: boolean, ctx: CompileContext) {
  const { runtime, limits } = ctx
  const serving = ctx.serving(
    () => import('./processing.ts'),
    module => module,
  )
  const running = new WeakMap<Exchange, Processing>()

  /** Once body data has been sent, failing open is no longer possible. */
  async function passes(x: Exchange, processing: Processing, step: Promise<void>): Promise<void> {
    try {
      await step
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'extProc') throw error
      const ownWords = error.details.body !== undefined || error.details.status !== undefined
      if (!ownWords) x.error = reasonOf(error.details.cause)
      if (ownWords || !failOpen || processing.bodyStarted) throw error
      running.delete(x)
      processing.withdraw()
    }
  }
  async function request(x: Exchange): Promise<undefined> {
    const processing = new serving.part.Processing(rules, x, limits, runtime)
    running.set(x, processing)
    await passes(x, processing, processing.request())
    return undefined
  }
  /** Local replies are not processed. */
  function response(x: Exchange): void | Promise<void> {
    const processing = running.get(x)
    if (processing && x.reason === 'Upstream') return passes(x, processing, processing.response())
  }
  return {
    request,
    response,
    responseBody: (x: Exchange) => (x.reason === 'Upstream' ? running.get(x)?.responseBody() : undefined),
    done: (x: Exchange) => running.get(x)?.close(),
  }
}

/** For logs only: may contain names that clients must not see. */
function reasonOf(cause: unknown): string {
  return `ext_proc failed: ${cause instanceof Error ? cause.message : String(cause)}`
}
