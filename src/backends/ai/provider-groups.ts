import { NO_STEPS } from '../../calls/step.ts'
import type { Attempt, Exchange } from '../../http/exchange.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import { openAiErrors } from '../../llm/formats/completions/errors.ts'
import { formatOf } from '../../llm/formats/index.ts'
import { compileRoutes, type RouteType } from '../../llm/route-type.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Backend, BackendContext } from '../backend.ts'
import { affinityOf } from '../endpoints.ts'
import { callProvider } from './call.ts'
import { type Candidate, callInTurn, rank } from './candidates.ts'
import type { ProviderTarget } from './provider-target.ts'
import { BODY_LIMIT } from './provider-target.ts'
import { readJson } from './read-json.ts'
import { errorInDialect } from './reply-context.ts'
import { traceProviders } from './trace-choice.ts'

/** A provider of a backend. */
export interface Member extends Candidate {
  readonly to: ProviderTarget
}

/** Selects among the providers of a backend and calls them. */
export function callsTo(
  groups: readonly (readonly Member[])[],
  { runtime, settings }: Pick<BackendContext, 'runtime' | 'settings'>,
): Backend['send'] {
  const [only, ...others] = groups.flat()
  if (only?.steps === NO_STEPS && others.length === 0) {
    return (x, attempt, on) => callProvider(runtime, only.to, routeFor(only, x), x, attempt, on)
  }
  const pick = (x: Exchange) => rank(groups, runtime.random, runtime.clock.mono(), affinityOf(settings, x))
  return (x, attempt, on) => callMembers(groups, pick, runtime, x, attempt, on).catch(error => on.fail(error))
}

/** Tries one after another until one succeeds. The body is read first, since it may be sent several times. */
async function callMembers(
  groups: readonly (readonly Member[])[],
  pick: (x: Exchange) => Member[],
  runtime: Runtime,
  x: Exchange,
  attempt: Attempt,
  on: ResponseHandler,
): Promise<void> {
  const formats = groups.flat().flatMap(member => formatOf(routeFor(member, x)) ?? [])
  const dialect = formats[0]?.errors ?? openAiErrors
  const body = await readBody(x, formats.length > 0).catch(error => {
    throw errorInDialect(dialect, error)
  })
  const members = pick(x)
  if (x.trace) traceProviders(x, members)
  const calling = {
    runtime,
    send: (member: Member, own: Exchange, attempt: Attempt, on: ResponseHandler, more: boolean) =>
      callProvider(runtime, member.to, routeFor(member, x), own, attempt, on, { body: body?.fork(), client: x, more }),
  }
  callInTurn(members, calling, x, attempt, on)
}

function routeFor({ to }: Member, x: Exchange): RouteType {
  return (to.policy?.routeOf ?? EVERYTHING_CHATS)(x.request.path)
}

const EVERYTHING_CHATS = compileRoutes(undefined)

async function readBody(x: Exchange, parse: boolean) {
  if (parse) return readJson(x)
  if (x.body.bytes === undefined) await x.body.buffer(BODY_LIMIT)
  return undefined
}
