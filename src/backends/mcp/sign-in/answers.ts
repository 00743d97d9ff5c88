import { errorReply, INVALID_REQUEST, URL_ELICITATION_REQUIRED } from '../../../mcp/errors.ts'
import { LIST_METHODS } from '../../../mcp/lists.ts'
import { isObject, type JsonObject, type Request } from '../../../mcp/message.ts'
import type { Answer } from '../answer.ts'
import type { TargetFailure } from '../connection.ts'
import type { Conversation } from '../conversation.ts'
import type { Need } from './need.ts'

/** The only tool of a target that its user has not signed in to: clients call no target without tools. */
function signInTool(target: string): string {
  return `sign_in_to_${target}`
}

/** What such a target says of itself. */
export const INTRODUCTION: JsonObject = { capabilities: { tools: { listChanged: true } } }

/** Requests that clients of 2026-07-28 repeat with answers. */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** The list of such a target; undefined for requests that are not answered without a user. */
export function standInFor(method: string, target: string): JsonObject | undefined {
  const list = Object.hasOwn(LIST_METHODS, method) ? LIST_METHODS[method] : undefined
  if (list) return { [list.key]: list.kind === 'tool' ? [toolFor(target)] : [] }
  return method === 'ping' || method === 'logging/setLevel' ? {} : undefined
}

/** A call of that tool. */
export function isSignInCall({ method, params }: Request, { name }: { readonly name: string }): boolean {
  return method === 'tools/call' && params.name === signInTool(name)
}

function toolFor(target: string): JsonObject {
  return {
    name: signInTool(target),
    title: `Sign in to ${target}`,
    description: `The tools of ${target} need the user to sign in first. Call this for the link, which only the user may open.`,
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
  }
}

/** Answers with the failure of a target, or with what its user has to do. */
export function answerFailure(
  conversation: Conversation,
  request: Request,
  failure: TargetFailure,
  answer: Answer,
): void {
  if (failure.need) answer.finalEvent(needReply(conversation, request, failure.need))
  else answer.failWith(request.id, failure)
}

/** In the form that leads the client's user to the link. */
function needReply(conversation: Conversation, { id, method }: Request, need: Need): string {
  const { era, facts } = conversation
  const { target, link: url } = need
  const instead = standInFor(method, target)
  if (instead) return resultReply(id, { ...era.pageMembers, ...instead })
  const elicitation = facts.capabilities.elicitation
  const opens = isObject(elicitation) && isObject(elicitation.url)
  const asked = { mode: 'url', elicitationId: need.id, url, message: `Sign in to ${target} to use it.` }
  if (opens && era.asksClients) {
    const message = `sign in to \`${target}\` first`
    return errorReply(id, { code: URL_ELICITATION_REQUIRED, message, data: { elicitations: [asked] } })
  }
  if (opens && MAY_ASK.has(method)) {
    const inputRequests = { sign_in: { method: 'elicitation/create', params: asked } }
    return resultReply(id, { resultType: 'input_required', inputRequests })
  }
  const text = `The user has to sign in to ${target} first, here: ${url} . Then repeat this.`
  if (method !== 'tools/call') return errorReply(id, { code: INVALID_REQUEST, message: text })
  return textReply(conversation, id, text, true)
}

/** For a call of the sign-in tool by a user who has signed in. */
export function signedInReply(conversation: Conversation, { id }: Request, target: string): string {
  return textReply(conversation, id, `The user has signed in to ${target}. List its tools again.`, false)
}

function textReply({ era }: Conversation, id: Request['id'], text: string, isError: boolean): string {
  const complete = era.asksClients ? {} : { resultType: 'complete' }
  return resultReply(id, { ...complete, content: [{ type: 'text', text }], isError })
}

function resultReply(id: Request['id'], result: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}
