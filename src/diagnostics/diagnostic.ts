import type { Code } from './codes.ts'

/** A step from the document's root: a key of a map or an index of a list. */
export type Path = readonly (string | number)[]

/** 1-based line and column (UTF-16 units), 0-based offset into the file's text. */
export interface Position {
  readonly line: number
  readonly col: number
  readonly offset: number
}

/** `end` is exclusive. */
export interface Range {
  readonly start: Position
  readonly end: Position
}

export type Severity = 'error' | 'warning' | 'info'

/** Where a runtime object or a value was defined. */
export interface Origin {
  /** The file; for a watched cluster, the resource and its part: `HTTPRoute prod/chat rule 2`. */
  readonly file: string
  /** 1-based, like the column; both 0 if there is no file. */
  readonly line: number
  readonly col: number
  /** Used instead of line and column if those are expensive to find. */
  readonly key?: string
}

/** Identifies a place within one configuration. */
export function keyOf(origin: Origin): string {
  return origin.key ?? `${origin.line}:${origin.col}`
}

/** `gateway.yaml:12`, or the resource alone. */
export function placeText({ file, line }: Origin): string {
  return line === 0 ? file : `${file}:${line}`
}

/** `gateway.yaml:12:5`, or the resource alone. */
export function fullPlaceText(origin: Origin): string {
  return origin.line === 0 ? origin.file : `${placeText(origin)}:${origin.col}`
}

/** A mistake in terms of the document's tree. The Source adds ranges later, so that no rule ever computes a column. */
export interface Finding {
  readonly code: Code
  readonly message: string
  readonly path: Path
  /**
   * What to underline: the key (unknown field), the value (invalid value) or, for a missing field, its parent's key.
   */
  readonly at: 'key' | 'value' | 'parent'
  /** The part of the scalar's decoded text that is wrong (CEL, regex), in UTF-16 units. */
  readonly span?: readonly [start: number, end: number]
  /** Text next to the caret. */
  readonly label?: string
  readonly help?: string
  readonly note?: string
  readonly related?: readonly {
    readonly path: Path
    readonly at: 'key' | 'value' | 'parent'
    readonly message: string
  }[]
  /** A fix is safe if applying it cannot change the meaning of a correct file. */
  readonly fix?: {
    readonly title: string
    readonly safe: boolean
    readonly replace: 'key' | 'value'
    /** If unset, the existing text in quotes. */
    readonly with?: string
  }
}

export interface RelatedPlace {
  readonly message: string
  readonly file: string
  readonly range: Range
}

export interface TextEdit {
  readonly file: string
  readonly range: Range
  readonly text: string
}

/** A finding with its location in a file: the input of every renderer. */
export interface Diagnostic {
  readonly code: Code
  readonly severity: Severity
  readonly message: string
  readonly file: string
  readonly range: Range
  /** `binds[0].listeners[0].routes[0]`; empty for the document itself. */
  readonly path: string
  /** 1-based index of the document and the number of documents, if there are several. */
  readonly document?: { readonly index: number; readonly of: number }
  /** The template that a tool rendered the document from: Helm's `# Source: …`, kustomize's origin annotation. */
  readonly template?: string
  /** `HTTPRoute default/chat`, for declarative resources. */
  readonly resource?: string
  readonly label?: string
  readonly help?: string
  readonly note?: string
  readonly related: readonly RelatedPlace[]
  readonly fix?: { readonly title: string; readonly safe: boolean; readonly edits: readonly TextEdit[] }
}

/** `['binds', 0, 'port']` → `binds[0].port`; keys that are not identifiers are quoted. */
export function formatPath(path: Path): string {
  let out = ''
  for (const step of path) {
    if (typeof step === 'number') out += `[${step}]`
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) out += out === '' ? step : `.${step}`
    else out += `[${JSON.stringify(step)}]`
  }
  return out
}
