import { createHash } from 'node:crypto'

/** Restrictions on a tool name or call id. */
export interface IdentifierRule {
  /** Rejected characters; global. */
  readonly refused: RegExp
  readonly longest: number
}

/** The most common rule: letters, digits, `_` and `-`. */
export function wordsOf(longest: number): IdentifierRule {
  return { refused: /[^A-Za-z0-9_-]/g, longest }
}

/** Maps the client's identifiers to ones that a provider accepts, consistently within a request. */
export class Identifiers {
  readonly #rule: IdentifierRule
  readonly #sent = new Map<string, string>()
  /** Name as sent to client's name. */
  readonly #given: Map<string, string>

  constructor(rule: IdentifierRule, given: Map<string, string> = new Map()) {
    this.#rule = rule
    this.#given = given
  }

  of(name: string): string {
    const known = this.#sent.get(name)
    if (known !== undefined) return known
    const { refused, longest } = this.#rule
    const plain = name.replace(refused, '_') || '_'
    const taken = this.#given.get(plain)
    const fits = plain.length <= longest && (taken === undefined || taken === name)
    const sent = fits ? plain : `${plain.slice(0, longest - 7)}_${hashOf(name)}`
    this.#sent.set(name, sent)
    this.#given.set(sent, name)
    return sent
  }
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 6)
}
