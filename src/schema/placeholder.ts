/**
 * The value of an unset environment variable: `validate` runs where secrets are unavailable, so it fits every scalar
 * type. `run` never sees one (GW205 is reported first).
 */
export class Placeholder {
  readonly variable: string
  readonly text: string
  constructor(variable: string, text: string) {
    this.variable = variable
    this.text = text
  }
}
