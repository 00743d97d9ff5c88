/** A loss of a conversion: the path in the source body, and the reason. */
export interface Loss {
  readonly path: string
  readonly reason: string
}

/** Bounds the list, whatever the body contains. */
const MAX_LISTED = 64

/** Collects the losses of one conversion. */
export class Losses {
  readonly list: Loss[] = []
  /** Includes losses beyond the limit of the list. */
  count = 0
  /** The format that could not hold them, such as `Anthropic Messages`. */
  into = 'the provider'

  /** The same loss counts once: events of a stream repeat it. */
  add(path: string, reason: string): void {
    if (this.list.some(loss => loss.path === path && loss.reason === reason)) return
    this.count++
    if (this.list.length < MAX_LISTED) this.list.push({ path, reason })
  }

  drop(path: string, what = 'this'): void {
    this.add(path, `${this.into} cannot express ${what}; dropped`)
  }
}

/** The conversion would lose what must not be lost, or the body is malformed. */
export class Untranslatable extends Error {
  readonly path: string

  constructor(path: string, reason: string) {
    super(path === '' ? reason : `${path}: ${reason}`)
    this.name = 'Untranslatable'
    this.path = path
  }
}
