import { type Comparison, comparisonsOf, type Term, termsWithin } from '../../../cel/terms/terms.ts'
import { isTemplate } from '../constant.ts'
import type { Lint } from '../lint.ts'

/** GW570: a comparison with the same outcome for every request. */
export const neverEqual: Lint = file => {
  file.visitTerms(({ term, text, path }) => {
    for (const each of termsWithin(term)) {
      const written = (of: Term) => text.slice(...of.span)
      const mistakes = [
        ...comparisonsOf(each).map(found => comparedWrongly(found, written)),
        namedWrongly(each, written),
        negatedWrongly(each),
      ]
      for (const mistake of mistakes) {
        if (!mistake) continue
        const { span = each.span, ...told } = mistake
        file.report({ code: 'GW570', ...told, path: [...path], at: 'value', span })
      }
    }
  })
}

interface Mistake {
  readonly message: string
  readonly label: string
  readonly help: string
  /** The whole term when unset. */
  readonly span?: Term['span']
}
type Written = (term: Term) => string

function comparedWrongly({ path, op, literal }: Comparison, written: Written): Mistake | undefined {
  const name = path.join('.')
  const { value, span } = literal
  if (path[0] === 'request' && path[1] === 'headers' && path.length === 3)
    return headerMistake(path[2] ?? '', op, value)
  if (name === 'response.code') return typeof value === 'number' ? statusMistake(op, value) : undefined
  const [root, field = '', ...more] = path
  if (root !== 'request' || more.length > 0 || typeof value !== 'string') return undefined
  if (op === 'contains' || op === 'endsWith' || op === 'matches' || (op === 'startsWith' && field === 'host'))
    return partMistake(field, op, value)
  const isPrefix = op === 'startsWith'
  if (isPrefix && (value === '' || (field !== 'method' && field !== 'path'))) return undefined
  const problem = Object.hasOwn(VALUES, field) ? VALUES[field]?.(value) : undefined
  return (
    problem && {
      message: `\`request.${field}\` ${isPrefix ? 'never starts with' : 'is never'} ${written(literal)}: ${problem.why}`,
      label: isPrefix ? 'never starts like this' : 'never equal',
      help: problem.help,
      span,
    }
  )
}

/** Why a request field never has this value. */
const VALUES: Readonly<Record<string, (text: string) => { readonly why: string; readonly help: string } | undefined>> =
  {
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

function partMistake(field: string, op: string, text: string): Mistake | undefined {
  if (field === 'path' && (op === 'contains' || op === 'endsWith') && /[?#]/.test(text))
    return {
      message: 'the query is not part of `request.path`',
      label: 'never true',
      help: 'compare `request.pathAndQuery`',
    }
  if (field === 'path' && op === 'matches' && /^\^[A-Za-z0-9_-]/.test(text) && !text.includes('|'))
    return {
      message: 'paths start with `/`: the pattern fits none of them',
      label: 'never true',
      help: 'write `^/` at its beginning',
    }
  if (field === 'host' && op !== 'matches' && /[A-Z]/.test(text))
    return { message: 'host names are in lower case here', label: 'never true', help: 'write it in lower case' }
  return undefined
}

function headerMistake(name: string, op: string, value: Comparison['literal']['value']): Mistake | undefined {
  const header = `request.headers["${name}"]`
  if (typeof value === 'number')
    return {
      message: 'a header is text, and is compared with a number here: that fails for every request',
      label: 'text and a number',
      help: `write \`int(${header})\``,
    }
  if (value !== null || op !== '==') return undefined
  return {
    message: 'a missing header is not `null`: reading it fails, and the comparison is never true',
    label: 'never true',
    help: `write \`!("${name}" in request.headers)\``,
  }
}

/** Half of a range may always hold: `>= 500 && < 600`. */
function statusMistake(op: string, than: number): Mistake | undefined {
  const outside = than < 100 || than > 599
  const verb =
    (op === '==' && outside && 'never') ||
    (op === '!=' && outside && 'always other than') ||
    (((op === '>' && than >= 599) || (op === '>=' && than > 599)) && 'never above') ||
    (((op === '<' && than <= 100) || (op === '<=' && than < 100)) && 'never below')
  return verb
    ? {
        message: `\`response.code\` is ${verb} ${than}: statuses are 100 to 599`,
        label: 'the same for every response',
        help: 'compare it with a status: 200, 404, 500',
      }
    : undefined
}

function namedWrongly(term: Term, written: Written): Mistake | undefined {
  if (term.kind === 'literal')
    return isTemplate(term.value)
      ? {
          message: 'quoted text is literal: `{{…}}` is not expanded',
          label: 'fixed text',
          help: 'write the variable without quotes and braces: `request.path`',
        }
      : undefined
  if (term.kind !== 'reference') return undefined
  const [root, field, name = ''] = term.path
  if (root === 'jwt' && field === 'claims')
    return {
      message: 'claims are members of `jwt` itself, without `claims` between',
      label: 'never set',
      help: 'write `jwt.NAME`',
    }
  // With brackets, it may be a header name with an underscore.
  if (root !== 'request' || field !== 'headers' || !/^[a-z]+[A-Z_]/.test(name) || written(term).endsWith(']'))
    return undefined
  return {
    message: `no header is called \`${name}\`: names have hyphens`,
    label: 'never there',
    help: `write \`request.headers["${name.replaceAll('_', '-').replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}"]\``,
  }
}

const NOT_BOOLEAN = new Set(['headers', 'path', 'method', 'host', 'uri', 'scheme'])

function negatedWrongly(term: Term): Mistake | undefined {
  const [of] = term.kind === 'operation' && term.op === '!' ? term.args : []
  if (of?.kind !== 'reference' || of.path.length !== 2) return undefined
  const [root, field = ''] = of.path
  if (root !== 'request' || !NOT_BOOLEAN.has(field)) return undefined
  return {
    message: `\`!\` takes a boolean, and \`request.${field}\` is not a boolean: this fails for every request`,
    label: 'not a boolean',
    help:
      field === 'headers'
        ? 'ask for one header: `!("x-name" in request.headers)`'
        : `compare it: \`request.${field} == ""\``,
  }
}
