/**
 * Stands where the file names an environment variable that is not set: `validate` runs where secrets are absent, so
 * such a value fits every scalar type. `run` never sees one (GW205 refuses it first).
 */
export class Placeholder {
  readonly variable: string
  readonly text: string
  constructor(variable: string, text: string) {
    this.variable = variable
    this.text = text
  }
}
