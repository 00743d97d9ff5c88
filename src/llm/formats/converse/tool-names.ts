import { createHash } from 'node:crypto'

const LONGEST = 64

/** Names that the service takes (`[A-Za-z0-9_-]{1,64}`), one for each name of the client's, the same all through a request. */
export class ToolNames {
  readonly #sent = new Map<string, string>()
  /** As sent, and as the client knows them. */
  readonly #given: Map<string, string>

  constructor(renamed: Map<string, string>) {
    this.#given = renamed
  }

  of(name: string): string {
    const known = this.#sent.get(name)
    if (known !== undefined) return known
    const plain = name.replace(/[^A-Za-z0-9_-]/g, '_') || '_'
    const taken = this.#given.get(plain)
    const fits = plain.length <= LONGEST && (taken === undefined || taken === name)
    const sent = fits ? plain : `${plain.slice(0, 57)}_${createHash('sha256').update(name).digest('hex').slice(0, 6)}`
    this.#sent.set(name, sent)
    this.#given.set(sent, name)
    return sent
  }
}
