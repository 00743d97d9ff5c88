import type { TextFinding } from './source-findings.ts'

/** An action of a Go template (Helm): a field, a variable, a comment or an action keyword. */
const GO_ACTION =
  /\{\{-?\s*(?:\.|\$|\/\*|(?:if|else|end|range|with|define|template|include|block|toYaml|quote|default|printf|tpl|required|lookup|fail|not|and|or|eq)\b)/

export function looksLikeTemplate(text: string): boolean {
  return text.includes('{{') && GO_ACTION.test(text)
}

/**
 * The first template action, outside comments, in text that is not YAML: `{{ … }}` of Go, `{% … %}` of Jinja. On the
 * line of the syntax error, anything in braces counts.
 */
export function findTemplate(text: string, start: number, end: number, errorAt: number): number | undefined {
  for (let line = start; line < end; ) {
    const newline = text.indexOf('\n', line)
    const stop = newline < 0 || newline > end ? end : newline
    const content = text.slice(line, stop).replace(/(^|\s)#.*$/, '')
    const hasError = errorAt >= line && errorAt <= stop
    const at = content.search(hasError || /^\s*\{%/.test(content) ? /\{\{|\{%/ : GO_ACTION)
    if (at >= 0) return line + at
    line = stop + 1
  }
  return undefined
}

export function templateFinding(text: string, at: number): TextFinding {
  const line = text.indexOf('\n', at)
  const close = /\}\}|%\}/.exec(text.slice(at, line < 0 ? text.length : line))
  return {
    code: 'GW004',
    message: 'this is a template, not configuration',
    start: at,
    end: close ? at + close.index + 2 : Math.min(at + 2, text.length),
    help: 'render it first: `helm template . | gwctl validate -`',
    note: 'if the braces are part of a value, quote it',
  }
}
