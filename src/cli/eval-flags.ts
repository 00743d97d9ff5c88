import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import { Failure } from '../diagnostics/failure.ts'
import type { EvalState } from '../tools/expressions/state.ts'
import { outputFlag } from './flags.ts'
import type { Io } from './io.ts'
import { requestFlags, requestOf } from './request-flags.ts'

export const evalArgs = {
  expression: Args.string({
    multiple: true,
    ignoreStdin: true,
    description:
      'EXPRESSION [[METHOD] URL]. The expression - is read from stdin; without one, a terminal prompts for it. ' +
      'After --, also options of curl.',
  }),
}

const PHASE_NAMES = ['request', 'response', 'llm', 'mcp', 'usage', 'log', 'connection', 'target'] as const

/** All flags of `eval`. */
export const evalFlags = {
  phase: Flags.option({ options: PHASE_NAMES })({
    default: 'request',
    summary: 'Where the expression is used, which determines its variables.',
  }),
  request: Flags.string({
    helpValue: 'FILE',
    summary: 'A request as test cases write it (method, url or path, headers, body, json, jwt); YAML or JSON.',
    exclusive: ['curl'],
  }),
  context: Flags.string({ helpValue: 'FILE', summary: 'Variables by name, as YAML or JSON: a file, or {…} inline.' }),
  trace: Flags.string({
    helpValue: 'FILE#SEQ',
    summary: 'The state at an event of a recorded trace; the last event without a number.',
    exclusive: ['request', 'curl', 'header', 'data', 'json'],
  }),
  type: Flags.boolean({
    summary: 'Print the type of the expression without evaluating it.',
    exclusive: ['steps'],
  }),
  steps: Flags.boolean({ summary: 'Also print the value of each part.' }),
  'exit-value': Flags.boolean({ summary: 'Exit 0 when the value is true, 1 otherwise.' }),
  ...requestFlags,
  output: outputFlag(['text', 'json'])({ default: { format: 'text' } }),
}

export type EvalFlags = InferredFlags<typeof evalFlags>

/** The state to evaluate the expression over, from the flags. Throws a Failure. */
export async function evalState(
  words: readonly string[],
  flags: EvalFlags,
  io: Io,
  example: string,
): Promise<EvalState> {
  const { readContext, readRequest } = await import('../tools/eval/read-data.ts')
  const given = flags.context === undefined ? {} : await readContext(flags.context, io)
  const named = flags.trace ?? flags.request
  if (named !== undefined && words.length > 0) {
    throw new Failure('usage', `The request is given twice: by ${named} and in words.`, {
      help: 'Leave one of them out.',
    })
  }
  if (flags.trace !== undefined) {
    const { recordedState } = await import('../tools/expressions/recorded-state.ts')
    return recordedState(flags.trace, given, io)
  }
  const { stateOf } = await import('../tools/expressions/state.ts')
  const address = words.length > 0 || flags.curl !== undefined ? words : ['/']
  const request = await requestOf(address, flags, io, example)
  const known = Object.fromEntries(
    Object.entries(request).filter(([name, value]) => CALLER.has(name) && value !== undefined),
  )
  const whole = flags.request === undefined ? request : { ...(await readRequest(flags.request, io)), ...known }
  return stateOf(whole, flags.at ?? Date.now(), given)
}

/** Fields that flags add to the request of a file. */
const CALLER: ReadonlySet<string> = new Set(['source', 'sni', 'jwt', 'apiKey'])
