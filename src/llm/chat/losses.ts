/** What a conversion could not carry: where it stood in the body that was read, and why it is gone. */
export interface Loss {
  readonly path: string
  readonly reason: string
}

/** A list that a body of a thousand foreign parts cannot make large. */
const MOST = 64

/** Collects the losses of one conversion. */
export class Losses {
  readonly list: Loss[] = []
  /** Also those that are not listed. */
  count = 0

  add(path: string, reason: string): void {
    this.count++
    if (this.list.length < MOST) this.list.push({ path, reason })
  }
}

/** Converting would drop what must not be dropped, or the body is not what its format says. */
export class Untranslatable extends Error {
  readonly path: string

  constructor(path: string, reason: string) {
    super(path === '' ? reason : `${path}: ${reason}`)
    this.name = 'Untranslatable'
    this.path = path
  }
}
