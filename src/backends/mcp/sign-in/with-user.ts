import type { Request } from '../../../mcp/message.ts'
import type { Answer } from '../answer.ts'
import type { Conversation } from '../conversation.ts'
import type { Link } from '../targets.ts'
import { answerFailure, isSignInCall, signedInReply } from './answers.ts'
import { SignInNeeded } from './need.ts'

/**
 * Calls `then` unless the user has to sign in at the target first: before rules and locks ask it for its lists, which
 * it may give to users only.
 */
export function withUser(
  conversation: Conversation,
  link: Link,
  request: Request,
  answer: Answer,
  to: { pass(): void; tellNews(): void },
  then: () => void,
): void {
  const { x } = answer
  const { users } = link.target
  const need = users?.needOf(x)
  if (!users) then()
  else if (isSignInCall(request, link)) {
    if (!users.has(x)) to.pass()
    else {
      to.tellNews()
      answer.finalEvent(signedInReply(conversation, request, link.name))
    }
  } else if (need) answerFailure(conversation, request, new SignInNeeded(need).failure, answer)
  else {
    conversation.targets.ready(link, x, failure => {
      if (!failure?.need) then()
      else if (!answer.over) answerFailure(conversation, request, failure, answer)
    })
  }
}
