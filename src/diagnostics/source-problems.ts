import { type Node, visit, type YAMLError } from 'yaml'
import type { TextFinding } from './source-findings.ts'

/** An error explained in the author's terms. */
export interface Explained {
  readonly message: string
  readonly start: number
  readonly end: number
  readonly label?: string
  readonly help?: string
}

interface Problem {
  readonly text: string
  readonly at: number
  readonly end: number
  readonly raw: string
  readonly errors: readonly YAMLError[]
  readonly root: Node | null
  /** The line that contains `at`: its start, the start of its content and its end. */
  readonly line: Line
}

interface Line {
  readonly start: number
  readonly content: number
  readonly end: number
}

/** One document's first error; later ones are usually consequences. */
export function explainSyntax(errors: readonly YAMLError[], root: Node | null, text: string): TextFinding {
  const error = errors.reduce((first, other) => (other.pos[0] < first.pos[0] ? other : first))
  const at = Math.min(error.pos[0], text.length)
  const problem: Problem = {
    text,
    at,
    end: Math.min(Math.max(error.pos[1], at), text.length),
    raw: error.message,
    errors,
    root,
    line: lineAt(text, at),
  }
  const explained =
    unfinishedMerge(problem) ??
    indentation(problem) ??
    tornKey(problem) ??
    EXPLANATIONS.find(([pattern]) => pattern.test(error.message))?.[1](problem) ??
    pointed(problem, `this is not valid YAML: ${lowerFirst(error.message)}`)
  return { code: 'GW001', ...explained, end: Math.max(explained.start, Math.min(explained.end, text.length)) }
}

/** Git's conflict markers. */
function unfinishedMerge({ text }: Problem): Explained | undefined {
  const [mark] = /^<{7} .*$(?=[\s\S]*^={7}$)(?=[\s\S]*^>{7} )/m.exec(text) ?? []
  if (mark === undefined) return undefined
  const start = text.search(/^<{7} /m)
  const message = 'a merge was not finished: both sides of a conflict are here'
  return { message, start, end: start + mark.length, help: 'keep one side, and remove the lines with the marks' }
}

type Explain = (problem: Problem) => Explained | undefined

/** Parser messages and their most likely causes. */
const EXPLANATIONS: readonly (readonly [RegExp, Explain])[] = [
  [/^Missing closing/, unclosedQuote],
  [/^Flow .* end with a/, unclosedBracket],
  [/^Plain value cannot start with/, badStart],
  [/^Nested mappings are not allowed/, nestedMapping],
  [/^Implicit keys need to be on a single line/, missingColon],
  [/^Implicit map keys need to be followed/, missingColon],
  [/^All (?:mapping|sequence) items must start at the same column/, misaligned],
  [/^Sequence item without - indicator/, misaligned],
  [/^A block sequence may not be used as an implicit map key/, misaligned],
  [/^Unexpected (?:\S+ at node end|scalar|map-value-ind|\S*quoted-scalar)/, textAfterValue],
  [/^Unexpected (?:flow-seq-end|flow-map-end)/, strayBracket],
  [
    /^Unexpected block-seq-ind on same line/,
    p => pointed(p, 'a list cannot start on the line of its key', 'put the `-` on the next line'),
  ],
  [
    /cannot start on same line with directives-end/,
    p => content(p, 'a map or list cannot start on the line of `---`', 'put it on the next line'),
  ],
  [
    /^Unexpected ,|^Unexpected empty item/,
    p => pointed(p, 'a value is missing before this comma', 'remove the comma or write the value'),
  ],
  [/^Missing , or : between|^Missing , between/, p => pointed(p, 'a comma is missing between these items')],
  [/^Missing space after :/, p => pointed(p, 'a space is missing after the colon')],
  [
    /^Block collections are not allowed within flow/,
    p =>
      pointed(
        p,
        'a comma is missing here, or a map or list inside brackets has no brackets of its own',
        'inside `{}` and `[]`, write `{key: value}` and `[item, item]`, with commas between',
      ),
  ],
  [/^Invalid escape sequence/, badEscape],
  [
    /^Block scalar header includes extra/,
    p =>
      pointed(
        p,
        'after `|` or `>` only `+`, `-`, a digit or a comment may follow',
        'put the text on the next line, or quote the value',
      ),
  ],
  [
    /^Block scalar(?:s| values| lines)/,
    p => content(p, 'bad indentation: the lines of a text block must be indented, and none less than its first'),
  ],
  [
    /^Comments must be separated/,
    p => pointed(p, '`#` starts a comment only after a space', 'put a space before `#`, or quote the value'),
  ],
  [/^An alias node must not specify/, p => pointed(p, 'an alias cannot have an anchor or a tag of its own')],
  [
    /^(?:Alias|Anchor) (?:cannot be an empty|ending in)/,
    p => pointed(p, 'an anchor or alias needs a name: `&name`, `*name`', 'quote the value if `*` or `&` is part of it'),
  ],
  [/^A node can have at most one/, p => pointed(p, 'a value can have only one anchor and one tag')],
  [/^Anchors and tags must be after/, p => pointed(p, 'the anchor or tag must come after the `-`, `?` or `:`')],
  [/^Tags and anchors must be separated/, p => pointed(p, 'a space is missing after the anchor or tag')],
  [
    /^Missing newline after block sequence props/,
    p => pointed(p, 'a list must start on the line after its anchor or tag'),
  ],
  [/at most 1024 chars/, p => pointed(p, 'a key can be at most 1024 characters long')],
  [/[Tt]ag/, p => pointed(p, 'this is not a tag that YAML knows', 'quote the value if `!` is part of it')],
  [/call stack/i, p => pointed(p, 'lists and maps are nested too deeply here')],
]

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

function pointed(p: Problem, message: string, help?: string): Explained {
  return { message, start: p.at, end: p.end, ...(help !== undefined && { help }) }
}

function content(p: Problem, message: string, help?: string): Explained {
  return { message, start: p.line.content, end: p.line.end, ...(help !== undefined && { help }) }
}

/** A tab or unusual space in the indentation explains almost every error after it. */
function indentation(p: Problem): Explained | undefined {
  const indent = p.text.slice(p.line.start, p.line.content)
  const odd = oddIndentation(p.line.start, indent)
  if (odd && p.at <= p.line.content) return odd
  const isTab = p.raw.startsWith('Tabs are not allowed')
  if (!isTab && (!indent.includes('\t') || p.at > p.line.content)) return undefined
  const start = indent.includes('\t') ? p.line.start + indent.indexOf('\t') : p.at
  let end = start
  while (p.text[end] === '\t') end++
  return {
    message: 'a tab is used for indentation, and YAML allows only spaces',
    start,
    end: Math.max(end, start + 1),
    help: 'replace the tab with spaces',
  }
}

/** Characters that look like spaces: YAML treats them as the first letters of a key. */
export function oddIndentation(at: number, text: string): Explained | undefined {
  const found = /^[ \t]*([\u00a0\u2000-\u200b\u202f\u205f\u3000\ufeff]+)/.exec(text)
  if (!found) return undefined
  const start = at + found[0].length - found[1]!.length
  const code = found[1]!.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
  return {
    message: `an unusual space (U+${code}) is used for indentation, and YAML allows only plain spaces`,
    start,
    end: at + found[0].length,
    help: 'replace it with spaces; it often comes with text copied from a web page',
  }
}

/** YAML parses `tls:{sni: x}` and `tls {sni: x}` as a key up to the second colon, and fails on what follows. */
function tornKey(p: Problem): Explained | undefined {
  const [whole, lead = '', name, between = '', bracket] =
    /^((?:- +)*)([\w.-]+)(:| +)([{[])/.exec(p.text.slice(p.line.content, p.line.end)) ?? []
  if (whole === undefined) return undefined
  const start = p.line.content + lead.length
  return {
    message: between === ':' ? 'a space is missing after the colon' : 'a colon is missing before the bracket',
    start,
    end: p.line.content + whole.length,
    help: `write \`${name}: ${bracket}\``,
  }
}

function unclosedQuote(p: Problem): Explained {
  let start = p.at
  if (p.root) {
    visit(p.root, {
      Scalar(_key, node) {
        const [from, to] = node.range ?? [0, 0]
        if ((node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE') && to === p.at) start = from
      },
    })
  }
  const quote = p.text[start] === "'" ? "'" : '"'
  return {
    message: `the quote that opens here is never closed`,
    start,
    end: start === p.at ? p.end : lineAt(p.text, start).end,
    label: `no closing ${quote}`,
    help:
      quote === '"'
        ? 'close it; a `"` inside double quotes is written `\\"`'
        : "close it; a `'` inside single quotes is written `''`",
  }
}

function unclosedBracket(p: Problem): Explained {
  let start = -1
  if (p.root) {
    visit(p.root, {
      Collection(_key, node) {
        const [from, to] = node.range ?? [0, 0]
        const close = p.text[from] === '{' ? '}' : ']'
        if (node.flow && from < p.at && to <= p.at && from > start && (to <= from + 1 || p.text[to - 1] !== close))
          start = from
      },
    })
  }
  if (start < 0) return pointed(p, 'a bracket above is never closed')
  const [open, close] = p.text[start] === '{' ? ['{', '}'] : ['[', ']']
  return { message: `\`${open}\` is never closed`, start, end: start + 1, label: `no \`${close}\` for this` }
}

function insideBrackets(p: Problem): boolean {
  let inside = false
  if (p.root) {
    visit(p.root, {
      Collection(_key, node) {
        const [from, to] = node.range ?? [0, 0]
        if (node.flow && from < p.at && p.at < to) inside = true
      },
    })
  }
  return inside
}

function badStart(p: Problem): Explained {
  const char = p.text[p.at] ?? ''
  const { end } = lineAt(p.text, p.at)
  const value = p.text.slice(p.at, end).replace(/\s+#.*$/, '')
  return {
    message: `a value cannot start with ${char === '`' ? 'a backtick' : `\`${char}\``} unless it is quoted`,
    start: p.at,
    end: p.at + value.length,
    help: /["'\\]/.test(value) ? 'put quotes around the value' : `quote it: "${value}"`,
  }
}

/** Either two `: ` on one line, or a line indented deeper than the key that it continues. */
function nestedMapping(p: Problem): Explained {
  const multiline = p.errors.find(error => error.code === 'MULTILINE_IMPLICIT_KEY' && error.pos[0] === p.at)
  if (multiline) return tooDeep(p, multiline.pos[1])
  const value = p.text.slice(p.at, p.line.end).replace(/\s+#.*$/, '')
  return {
    message: 'there are two keys on one line',
    start: p.at,
    end: p.at + value.length,
    label: 'this is read as a second `key: value`',
    help: /["'\\]/.test(value)
      ? 'put quotes around the value'
      : `quote the value if the colon is part of it: "${value}"`,
  }
}

function tooDeep(p: Problem, keyEnd: number): Explained {
  const line = lineAt(p.text, keyEnd)
  const key = p.text.slice(line.content, keyEnd).trim()
  return {
    message: `bad indentation: \`${key}\` is indented deeper than the line above, which already has a value`,
    start: line.content,
    end: Math.max(line.content, keyEnd),
    help: 'align it with the key it belongs beside, or remove the value above',
  }
}

function missingColon(p: Problem): Explained {
  if (insideBrackets(p)) {
    const end = Math.min(p.end, p.line.end)
    return { ...pointed({ ...p, end }, 'a comma is missing between these items'), label: 'a comma must follow' }
  }
  const line = lineAt(p.text, p.at)
  const words = p.text
    .slice(p.at, line.end)
    .replace(/\s+#.*$/, '')
    .trimEnd()
  const span = { start: p.at, end: p.at + words.length }
  const glued = /^([\w.-]+):\S/.exec(words)
  if (glued && !/^\w+:\/\//.test(words))
    return {
      message: 'a space is missing after the colon',
      ...span,
      help: `write \`${glued[1]}: ${words.slice(glued[1]!.length + 1)}\``,
    }
  if (/^-(?:\s|$)/.test(words)) {
    const message = 'this list item does not belong to the map above it'
    return { message, ...span, help: 'check its indentation: a list and a map cannot stand side by side' }
  }
  if (/^-\S/.test(words))
    return { message: 'a space is missing after the `-`', ...span, help: `write \`- ${words.slice(1)}\`` }
  if (/^[“”‘’]/.test(words))
    return { message: 'typographic quotes are not quotes in YAML', ...span, help: 'use `"` or `\'`' }
  const spaced = /^([\w.-]+)\s+\S/.exec(words)
  return {
    message: 'a colon is missing: this is not a `key: value` pair',
    ...span,
    ...(spaced && { help: `write \`${spaced[1]}: ${words.slice(spaced[1]!.length).trim()}\`` }),
  }
}

function misaligned(p: Problem): Explained {
  let at = p.at
  while (at < p.text.length && /\s/.test(p.text[at]!)) at++
  const line = lineAt(p.text, at)
  const indent = line.content - line.start
  return {
    message: 'bad indentation: this line does not line up with any line above it',
    start: line.content,
    end: line.end,
    label: `indented by ${indent} ${indent === 1 ? 'space' : 'spaces'}`,
    help: 'items of one map or list must start in the same column',
  }
}

function textAfterValue(p: Problem): Explained {
  const before = p.text.slice(0, p.at).trimEnd()
  const last = before.at(-1)
  if (before.length >= p.line.start && (last === '"' || last === "'")) {
    return {
      message: 'there is text after the closing quote',
      start: p.at,
      end: p.line.end,
      help:
        last === "'"
          ? "a `'` inside single quotes is written `''`; or use double quotes"
          : 'a `"` inside double quotes is written `\\"`; or use single quotes',
    }
  }
  if (p.at <= p.line.content || before.length < p.line.start) {
    return content(
      { ...p, line: lineAt(p.text, Math.max(p.at, p.line.content)) },
      'this line does not belong to the list or map above it',
      'check its indentation: a list and a map cannot stand side by side',
    )
  }
  return pointed(p, 'this text is unexpected here', 'put quotes around the whole value')
}

function strayBracket(p: Problem): Explained {
  const char = p.text[p.at] ?? ''
  return pointed(p, `\`${char}\` closes nothing: there is no \`${char === ']' ? '[' : '{'}\` before it`)
}

function badEscape(p: Problem): Explained {
  const sequence = p.text.slice(p.at, p.at + 2)
  return {
    message: `\`${sequence}\` is not an escape that YAML knows`,
    start: p.at,
    end: p.at + 2,
    help: `write \`\\${sequence}\`, or put the value in single quotes, where a backslash is only a backslash`,
  }
}

function lineAt(text: string, at: number): Line {
  const start = at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1
  const newline = text.indexOf('\n', at)
  let end = newline < 0 ? text.length : newline
  while (end > start && /\s/.test(text[end - 1]!)) end--
  let from = start
  while (from < end && /\s/.test(text[from]!)) from++
  return { start, content: from, end }
}
