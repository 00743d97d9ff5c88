import { type Comparison, comparisonsOf, partsOf, type Term } from '../../cel/terms/terms.ts'

export interface Constant {
  readonly value: boolean
  /** The operator that joins comparisons of one value with several. */
  readonly joint?: '&&' | '||'
}

/** The outcome of a condition for every request, where its text shows that it is constant. */
export function constantOf(term: Term | undefined): Constant | undefined {
  if (term === undefined) return undefined
  if (term.kind === 'literal') return typeof term.value === 'boolean' ? { value: term.value } : undefined
  if (term.kind === 'reference') return undefined
  const { op, args } = term
  const [left, right] = args
  if (op === '!' && left) return negated(constantOf(left))
  if (op === '&&' || op === '||') return constantOfParts(partsOf(term, op), op)
  if (op === 'in' && right?.kind === 'operation' && right.op === 'list' && right.args.length === 0)
    return { value: false }
  if ((op === '==' || op === '!=') && left && right) {
    const same = areEqual(left, right)
    return same === undefined ? undefined : { value: same === (op === '==') }
  }
  return undefined
}

function negated(constant: Constant | undefined): Constant | undefined {
  return constant && { ...constant, value: !constant.value }
}

function constantOfParts(parts: readonly Term[], op: '&&' | '||'): Constant | undefined {
  const decides = op === '||'
  const constants = parts.map(constantOf)
  if (constants.some(each => each?.value === decides)) return { value: decides }
  if (constants.every(each => each !== undefined)) return { value: !decides }
  const clash = clashIn(parts, op)
  return clash && { value: decides, ...(clash === 'two values' && { joint: op }) }
}

/** `a == 1 && a == 2` and `a == 1 && a != 1` are never true; `a != 1 || a != 2` and `a == 1 || a != 1` always are. */
function clashIn(parts: readonly Term[], op: '&&' | '||'): 'two values' | 'opposites' | undefined {
  const seen: Comparison[] = []
  for (const part of parts) {
    const [one] = comparisonsOf(part)
    if (one?.op !== '==' && one?.op !== '!=') continue
    const name = one.path.join('.')
    // If the value is absent, neither side of an `||` holds.
    const alike = op === '||' && !ALWAYS_THERE.has(name) ? [] : seen.filter(other => other.path.join('.') === name)
    for (const other of alike) {
      const equal = one.literal.value === other.literal.value
      if (one.op !== other.op && equal) return 'opposites'
      if (one.op === other.op && one.op === (op === '&&' ? '==' : '!=') && !equal) return 'two values'
    }
    seen.push(one)
  }
  return undefined
}

/** Present exactly once in every request. */
const ALWAYS_THERE: ReadonlySet<string> = new Set([
  'request.method',
  'request.path',
  'request.pathAndQuery',
  'request.host',
  'request.scheme',
  'request.uri',
  'response.code',
])

function areEqual(left: Term, right: Term): boolean | undefined {
  if (left.kind === 'literal' && right.kind === 'literal') {
    const values = [left.value, right.value]
    return values.some(each => each === undefined || isTemplate(each)) || typeof values[0] !== typeof values[1]
      ? undefined
      : values[0] === values[1]
  }
  if (left.kind !== 'reference' || right.kind !== 'reference') return undefined
  return left.path[0] === 'request' && left.path.join('\0') === right.path.join('\0') ? true : undefined
}

/** Text with placeholders for another program, which is reported separately. */
export function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && /^\s*\{\{.*\}\}\s*$/s.test(value)
}
