import type { Lint } from '../lint.ts'

interface Subject {
  /** Whether the variable can have this value; undefined where it can. */
  readonly problem: (text: string) => { readonly why: string; readonly help: string } | undefined
}

const SUBJECTS: Readonly<Record<string, Subject['problem']>> = {
  method: text =>
    /[a-z]/.test(text) ? { why: 'methods are in capitals', help: `write \`"${text.toUpperCase()}"\`` } : undefined,
  path: text =>
    text === '' || /^[^/*]/.test(text) || /^https?:/.test(text)
      ? { why: 'paths start with `/`', help: `write \`"/${text}"\`` }
      : /[?#]/.test(text)
        ? { why: 'the query is not part of the path', help: 'compare `request.pathAndQuery`' }
        : undefined,
  uri: text =>
    text.startsWith('/')
      ? { why: 'a URI starts with its scheme: `http://host/path`', help: 'compare `request.path`' }
      : undefined,
  scheme: text =>
    text === 'http' || text === 'https'
      ? undefined
      : { why: 'schemes are `http` and `https`', help: `write \`"${/s(:|$)/i.test(text) ? 'https' : 'http'}"\`` },
  host: text =>
    /[A-Z]/.test(text)
      ? { why: 'host names are in lower case here', help: `write \`"${text.toLowerCase()}"\`` }
      : text.includes('://')
        ? { why: 'a host has no scheme', help: 'write the host alone' }
        : undefined,
}

const TEXT = `"(?:[^"\\\\]*)"|'(?:[^'\\\\]*)'`
const COMPARISON = new RegExp(
  `(?<![\\w.])request\\.(method|path|uri|scheme|host)\\s*(?:(?:==|!=)\\s*(${TEXT})|\\.startsWith\\(\\s*(${TEXT})\\s*\\)|in\\s*\\[([^\\]]*)\\])`,
  'g',
)
const LITERAL = new RegExp(TEXT, 'g')
const HEADER_AS_NUMBER =
  /(?<![\w.(])request\.headers(?:\[(?:"[^"]*"|'[^']*')\]|\.\w+)\s*(?:<=?|>=?)\s*-?\d|(?<![\w.(])request\.headers(?:\[(?:"[^"]*"|'[^']*')\])\s*[!=]=\s*-?\d/g
const STATUS = /(?<![\w.])response\.code\s*(==|!=|<=?|>=?)\s*(-?\d+)(?![\d.])/g
const NEGATED = /!\s*request\.(headers|path|method|host|uri|scheme)(?=\s*(?:$|&&|\|\||\)))/g

/** GW570: a comparison whose outcome is the same for every request. */
export const neverEqual: Lint = file => {
  file.visit('cel', ({ node, value, path }) => {
    if (node.kind !== 'cel' || typeof value !== 'string' || !/request\.|response\.code|jwt\.claims|\{\{/.test(value))
      return
    const report = (start: number, length: number, message: string, label: string, help: string) =>
      file.report({
        code: 'GW570',
        message,
        path: [...path],
        at: 'value',
        span: [start, start + length],
        label,
        help,
      })
    for (const found of value.matchAll(COMPARISON)) {
      const [whole, field = '', equal, start, list] = found
      const isPrefix = start !== undefined
      for (const { 0: quoted, index } of (list ?? equal ?? start ?? '').matchAll(LITERAL)) {
        const problem = SUBJECTS[field]?.(quoted.slice(1, -1))
        if (!problem || (isPrefix && !['method', 'path'].includes(field)) || (isPrefix && quoted.length === 2)) continue
        const at = found.index + whole.lastIndexOf(list ?? quoted) + (list === undefined ? 0 : index)
        const verb = isPrefix ? 'never starts with' : 'is never'
        report(
          at,
          quoted.length,
          `\`request.${field}\` ${verb} ${quoted}: ${problem.why}`,
          isPrefix ? 'never starts like this' : 'never equal',
          problem.help,
        )
      }
    }
    for (const [pattern, judge] of MISTAKES) {
      for (const found of value.matchAll(pattern)) {
        const mistake = judge(found)
        if (mistake) report(found.index, found[0].length, mistake.message, mistake.label, mistake.help)
      }
    }
  })
}

interface Mistake {
  readonly message: string
  readonly label: string
  readonly help: string
}

const HEADER = String.raw`request\.headers(?:\[(?:"[^"]*"|'[^']*')\]|\.\w+)`
const MISSING_AS_NULL = new RegExp(String.raw`(?<![\w.(])(${HEADER})\s*==\s*null\b`, 'g')
const TEMPLATE = /(["'])\s*\{\{[^"']*\}\}\s*\1/g
const CAMEL_HEADER = /(?<![\w.])request\.headers\.((?:[a-z]+[A-Z_])[A-Za-z_]*)\b/g
const QUERY_IN_PATH = new RegExp(String.raw`(?<![\w.])request\.path\.(?:contains|endsWith)\(\s*(?:${TEXT})\s*\)`, 'g')
const CAPITALS_IN_HOST = new RegExp(
  String.raw`(?<![\w.])request\.host\.(?:contains|endsWith|startsWith)\(\s*(?:${TEXT})\s*\)`,
  'g',
)
const PATTERN_WITHOUT_SLASH = /(?<![\w.])request\.path\.matches\(\s*(["'])\^[A-Za-z0-9_-]/g
const CLAIMS = /(?<![\w.])jwt\.claims\b/g

const MISTAKES: readonly (readonly [RegExp, (found: RegExpExecArray) => Mistake | undefined])[] = [
  [
    HEADER_AS_NUMBER,
    found => ({
      message: 'a header is text, and is compared with a number here: that fails for every request',
      label: 'text and a number',
      help: `write \`int(${/^(request\.headers(?:\[[^\]]*\]|\.\w+))/.exec(found[0])?.[1]})\``,
    }),
  ],
  [
    STATUS,
    ([, operator = '', number = '']) => {
      const verb = statusProblem(operator, Number(number))
      return verb === undefined
        ? undefined
        : {
            message: `\`response.code\` is ${verb} ${number}: statuses are 100 to 599`,
            label: 'the same for every response',
            help: 'compare it with a status: 200, 404, 500',
          }
    },
  ],
  [
    MISSING_AS_NULL,
    ([, header = '']) => ({
      message: 'a header that is not there is no `null`: reading it fails, and the comparison is never true',
      label: 'never true',
      help: `write \`!(${/["'][^"']*["']/.exec(header)?.[0] ?? `"${header.slice(header.lastIndexOf('.') + 1)}"`} in request.headers)\``,
    }),
  ],
  [
    TEMPLATE,
    () => ({
      message: 'text in quotes stays as it is: nothing is filled in for `{{…}}`',
      label: 'fixed text',
      help: 'write the variable without quotes and braces: `request.path`',
    }),
  ],
  [
    CAMEL_HEADER,
    ([, name = '']) => ({
      message: `no header is called \`${name}\`: names have hyphens`,
      label: 'never there',
      help: `write \`request.headers["${name.replaceAll('_', '-').replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}"]\``,
    }),
  ],
  [
    QUERY_IN_PATH,
    ([whole]) =>
      /\(\s*["'][^"']*[?#]/.test(whole)
        ? {
            message: 'the query is not part of `request.path`',
            label: 'never true',
            help: 'ask `request.pathAndQuery`',
          }
        : undefined,
  ],
  [
    CAPITALS_IN_HOST,
    ([whole]) =>
      /\(\s*["'][^"']*[A-Z]/.test(whole)
        ? { message: 'host names are in lower case here', label: 'never true', help: 'write it in lower case' }
        : undefined,
  ],
  [
    PATTERN_WITHOUT_SLASH,
    () => ({
      message: 'paths start with `/`: the pattern fits none of them',
      label: 'never true',
      help: 'write `^/` at its beginning',
    }),
  ],
  [
    CLAIMS,
    () => ({
      message: 'claims stand in `jwt` itself, without `claims` between',
      label: 'never set',
      help: 'write `jwt.NAME`',
    }),
  ],
  [
    NEGATED,
    ([, field]) => ({
      message: `\`!\` takes a boolean, and \`request.${field}\` is not a boolean: this fails for every request`,
      label: 'not a boolean',
      help:
        field === 'headers'
          ? 'ask for one header: `!("x-name" in request.headers)`'
          : `compare it: \`request.${field} == ""\``,
    }),
  ],
]

/** Half of a range may hold for all of them: `>= 500 && < 600`. */
function statusProblem(operator: string, than: number): string | undefined {
  if (operator === '==' && (than < 100 || than > 599)) return 'never'
  if (operator === '!=' && (than < 100 || than > 599)) return 'always other than'
  if ((operator === '>' && than >= 599) || (operator === '>=' && than > 599)) return 'never above'
  if ((operator === '<' && than <= 100) || (operator === '<=' && than < 100)) return 'never below'
  return undefined
}
