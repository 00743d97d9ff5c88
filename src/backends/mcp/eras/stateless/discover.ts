import type { Introduction } from '../../../../mcp/initialize.ts'
import type { Request } from '../../../../mcp/message.ts'
import type { Answer } from '../../answer.ts'
import type { TargetFailure } from '../../connection.ts'
import type { Conversation } from '../../conversation.ts'
import { guardRequest, guardResult } from '../../guards.ts'
import { INTRODUCTION } from '../../sign-in/answers.ts'
import type { EraPlace } from '../era.ts'

/** Answers `server/discover` from what the targets reported when they were connected. */
export function discover(place: EraPlace, conversation: Conversation, request: Request, answer: Answer): void {
  const names = place.setup.targets.map(({ name }) => name)
  const { clock } = place.setup.runtime
  answer.x.trace?.emit({ type: 'mcp', method: request.method })
  guardRequest(answer, request, names, { params: true, clock }, own =>
    describe(place, conversation, own, answer, reply =>
      guardResult(answer, own, names, Buffer.from(reply), clock, guarded => answer.finalEvent(guarded)),
    ),
  )
}

function describe(
  { setup, versions }: EraPlace,
  { era, targets }: Conversation,
  request: Request,
  answer: Answer,
  done: (reply: string) => void,
): void {
  let missing = targets.links.length
  let first: TargetFailure | undefined
  const needy = new Set<string>()
  const finish = (): void => {
    const introductions = targets.links.flatMap(({ name, introduction }): Introduction[] =>
      introduction
        ? [{ target: name, result: introduction }]
        : needy.has(name)
          ? [{ target: name, result: INTRODUCTION }]
          : [],
    )
    if (first && (introductions.length === 0 || !setup.failOpen)) {
      answer.failWith(request.id, first)
      return
    }
    const [only] = targets.links
    done(
      !setup.multiple && only?.era === era && only.introduction
        ? JSON.stringify({ jsonrpc: '2.0', id: request.id, result: only.introduction })
        : era.describe(request, introductions, { stateful: setup.stateful, versions, only: !setup.multiple }),
    )
  }
  for (const link of targets.links) {
    targets.ready(link, answer.x, failure => {
      if (failure?.need) needy.add(link.name)
      else first ??= failure
      missing--
      if (!answer.over && (missing === 0 || (failure && !failure.need && !setup.failOpen))) finish()
    })
  }
}
