import { GatewayCommand } from '../src/cli/command.ts'
import { type EvalFlags, evalArgs, evalFlags, evalState } from '../src/cli/eval-flags.ts'
import type { Outcome } from '../src/cli/exit-codes.ts'
import { Failure } from '../src/diagnostics/failure.ts'

const EXAMPLE = `gwctl eval 'request.path.startsWith("/v1")' POST /v1/chat -H 'x-team: a'`

export default class Eval extends GatewayCommand {
  static override summary = 'Evaluate an expression over a request, an event or variables.'
  static override description =
    'Checks the expression as a configuration does for expressions of --phase, then prints its value as JSON. ' +
    'Exits 0 when it has a value and 1 when it is invalid or has none; with --exit-value, 0 when it is true and 1 otherwise.'
  static override examples = [
    EXAMPLE,
    {
      description: 'Why is it false? The value of each part:',
      command: `gwctl eval --steps 'jwt.roles.exists(r, r == "admin")' --jwt-claims '{"roles": ["user"]}'`,
    },
    {
      description: 'At an event recorded by gwctl trace --record:',
      command: `gwctl eval 'response.code >= 500' --phase response --trace trace.jsonl#12`,
    },
    {
      description: 'With variables by name:',
      command: `gwctl eval 'llm.inputTokens > 1000' --phase usage --context '{"llm": {"inputTokens": 900}}'`,
    },
  ]
  static override args = evalArgs
  static override flags = evalFlags

  async run(): Promise<Outcome> {
    const { args, flags } = await this.parse(Eval)
    this.obey(flags)
    const [expression, ...words] = (args.expression as unknown as string[] | undefined) ?? []
    if (expression === undefined) return this.#prompt(flags)
    const { readInput } = await import('../src/tools/input/input-files.ts')
    const { evaluate } = await import('../src/tools/expressions/evaluate.ts')
    const { failureText, refusalText, renderEvaluation } = await import('../src/tools/eval/render.ts')
    const { secretsOf } = await import('../src/tools/expressions/state.ts')
    const text = expression === '-' ? (await readInput('-', this.io)).text.trim() : expression
    if (text.trim() === '') throw missing()
    const state = flags.type ? undefined : await evalState(words, flags, this.io, EXAMPLE)
    const evaluation = evaluate(text, flags.phase, state)
    const paint = await this.paint(this.io.stderr)
    if ('problem' in evaluation) {
      this.io.stderr.write(refusalText(text, evaluation, paint))
      return 'findings'
    }
    const { whole } = evaluation
    const shown = { format: flags.output.format, steps: flags.steps, secrets: state ? secretsOf(state) : [] }
    await this.deliver(renderEvaluation(evaluation, shown), flags.output)
    if (whole.error !== undefined) this.io.stderr.write(failureText(text, whole, paint))
    return whole.error !== undefined || (flags['exit-value'] && whole.value !== true) ? 'findings' : 'ok'
  }

  /** Prompts at a terminal; in a script, a missing expression is a mistake. */
  async #prompt(flags: EvalFlags): Promise<Outcome> {
    const { stdin, stdout } = this.io
    if (stdin.isTTY !== true || stdout.isTTY !== true) {
      throw missing()
    }
    const { promptForExpressions } = await import('../src/tools/eval/prompt.ts')
    const state = await evalState([], flags, this.io, EXAMPLE)
    await promptForExpressions(state, flags.phase, { stdin, stdout, paint: await this.paint() })
    return 'ok'
  }
}

/** Also covers an empty one, as from an unset shell variable. */
function missing(): Failure {
  return new Failure('usage', 'An expression is missing.', { help: `For example: ${EXAMPLE}` })
}
