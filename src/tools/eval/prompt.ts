import { createInterface } from 'node:readline'
import { VARIABLES, variableNamed } from '../../cel/variables.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { visible } from '../../diagnostics/visible.ts'
import { evaluate, fieldsAt, PHASES, type Phase } from '../expressions/evaluate.ts'
import { type EvalState, secretsOf } from '../expressions/state.ts'
import { failureText, refusalText, renderEvaluation } from './render.ts'

interface PromptPlace {
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream
  readonly paint: Paint
}

const HELP = `Type an expression, for example request.method == "GET"; Tab completes names.
  :vars         the variables there are, and what they are
  :type EXPR    the type of an expression, without its value
  :steps        show the value of each part, on and off
  :phase NAME   what expressions are for:
                ${Object.keys(PHASES).join(', ')}
  :help         this text
  :quit         end, as does Ctrl-D
`
const HELP_WORDS: ReadonlySet<string> = new Set([':help', ':h', ':?', '?', 'help'])
const QUIT_WORDS: ReadonlySet<string> = new Set([':quit', ':q', ':exit', 'quit', 'exit'])

/** Prompts for expressions and evaluates each over the same state. Throws a Failure `interrupted`. */
export async function promptForExpressions(state: EvalState, first: Phase, place: PromptPlace): Promise<void> {
  const { stdin, stdout, paint } = place
  const secrets = secretsOf(state)
  let phase = first
  let steps = false
  const lines = createInterface({
    input: stdin,
    output: stdout,
    terminal: true,
    completer: (line: string) => completions(line, phase, state),
  })
  const ask = () => {
    lines.setPrompt(`${phase}> `)
    lines.prompt()
  }
  const printLine = (text: string) => void stdout.write(text)
  const answer = (text: string, over: EvalState | undefined) => {
    const evaluation = evaluate(text, phase, over)
    if ('problem' in evaluation) return printLine(refusalText(text, evaluation, paint))
    printLine(renderEvaluation(evaluation, { format: 'text', steps: steps && over !== undefined, secrets }))
    if (evaluation.whole.error !== undefined) printLine(failureText(text, evaluation.whole, paint))
  }
  const obey = (word: string, rest: string) => {
    if (word === ':steps') {
      steps = !steps
      printLine(`steps are ${steps ? 'on' : 'off'}\n`)
    } else if (word === ':type' && rest !== '') answer(rest, undefined)
    else if (word === ':phase' && isPhase(rest)) phase = rest
    else if (word === ':phase')
      printLine(rest === '' ? `the phase is ${phase}\n` : `${rest} is not a phase${guess(rest)}\n`)
    else if (word === ':type') printLine(':type needs an expression\n')
    else if (word === ':vars') printLine(variablesText(phase))
    else printLine(`there is no command ${visible(word)}; :help lists them\n`)
  }
  printLine(HELP)
  ask()
  return new Promise((done, fail) => {
    lines.on('line', line => {
      const text = line.trim()
      const [word = ''] = text.split(/\s/, 1)
      if (QUIT_WORDS.has(text)) return lines.close()
      if (HELP_WORDS.has(text)) printLine(HELP)
      else if (text.startsWith(':')) obey(word, text.slice(word.length).trim())
      else if (text !== '') answer(text, state)
      ask()
    })
    lines.on('SIGINT', () => {
      fail(new Failure('interrupted', 'stopped by SIGINT'))
      lines.close()
    })
    lines.on('close', () => {
      printLine('\n')
      done()
    })
  })
}

function variablesText(phase: Phase): string {
  const known = VARIABLES.filter(({ scopes }) => scopes.includes(PHASES[phase]))
  const width = Math.max(...known.map(({ name }) => name.length))
  return known.map(({ name, doc }) => `  ${name.padEnd(width)}  ${doc}\n`).join('')
}

function isPhase(name: string): name is Phase {
  return Object.hasOwn(PHASES, name)
}

function guess(name: string): string {
  const known = Object.keys(PHASES)
  const meant = didYouMean(name, known)
  return meant === undefined ? `: there are ${known.join(', ')}` : `: ${meant}`
}

/** Completions at the end of the line: variables of the phase, or fields of the expression before the last dot. */
function completions(line: string, phase: Phase, state: EvalState): [string[], string] {
  const [word = ''] = /[\w.]*$/.exec(line) ?? []
  const dot = word.lastIndexOf('.')
  const begun = word.slice(dot + 1)
  const names =
    dot < 0
      ? VARIABLES.map(({ name }) => name).filter(name => variableNamed(name)?.scopes.includes(PHASES[phase]))
      : fieldsAt(word.slice(0, dot), phase, state)
  return [names.filter(name => name.startsWith(begun)).toSorted(), begun]
}
