import type { Node, Scalar } from 'yaml'
import { Placeholder } from '../schema/placeholder.ts'
import { expandVariables } from './source-env.ts'
import { type Reading, report, reportTemplate } from './source-reading.ts'
import { readingUnderYaml11, resolvePlain } from './source-scalars.ts'
import { looksLikeTemplate } from './source-template.ts'
import { didYouMean } from './suggest.ts'

/** A scalar's value: expands variables, then applies tags or, for plain text, the core schema. */
export function readScalar(node: Scalar, r: Reading): unknown {
  const text = node.source ?? ''
  const plain = node.type === 'PLAIN'
  if (plain && looksLikeTemplate(text)) reportTemplate(node.range![0], r)
  const expanded = r.env && text.includes('$') ? expand(node, text, r.env, r) : text
  if (typeof expanded !== 'string') return expanded
  if (node.tag !== undefined) return readTagged(node, expanded, r)
  if (!plain) return expanded
  if (expanded === text) checkReading(node, text, r)
  return resolvePlain(expanded)
}

function expand(node: Scalar, text: string, env: Record<string, string | undefined>, r: Reading): string | Placeholder {
  const expansion = expandVariables(text, env)
  if (expansion.malformed) {
    const { start, end } = expansion.malformed
    report(node, r, {
      code: 'GW205',
      message: '`${` does not open a reference to a variable here',
      help: 'write `${NAME}` or `${NAME:-default}`, or `$$` for a dollar sign',
      span: [start, end],
    })
    return new Placeholder('', text)
  }
  const { missing } = expansion
  if (!missing) return expansion.text
  if (r.unset === 'error') {
    const close = didYouMean(missing.name, Object.keys(env))
    report(node, r, {
      code: 'GW205',
      message: `environment variable \`${missing.name}\` is not set`,
      help: close ?? `set it, or give a default: \`\${${missing.name}:-default}\``,
      span: [missing.start, missing.end],
    })
  }
  return new Placeholder(missing.name, text)
}

const CORE_TYPES: Readonly<Record<string, string>> = {
  'tag:yaml.org,2002:int': 'integer',
  'tag:yaml.org,2002:float': 'number',
  'tag:yaml.org,2002:bool': 'boolean',
  'tag:yaml.org,2002:null': 'null',
}

function readTagged(node: Scalar, text: string, r: Reading): unknown {
  if (node.tag === '!' || node.tag === 'tag:yaml.org,2002:str') return text
  const type = CORE_TYPES[node.tag ?? '']
  if (type === undefined) {
    refuseTag(node, '', r)
    return text
  }
  const value = resolvePlain(text)
  const fits = type === 'null' ? value === null : type === 'integer' ? Number.isInteger(value) : typeof value === type
  if (!fits) {
    report(node, r, { code: 'GW001', message: `the tag says ${type}, and the value is not one` })
    r.broken = true
  }
  return value
}

/** Unknown tags change the meaning of a value (`!secret`, `!!binary`), so ignoring them would be wrong. */
export function refuseTag(node: Node, allowed: string, r: Reading): void {
  const { tag } = node as { tag?: string }
  if (tag === undefined || tag === '!' || tag === allowed) return
  const name = tag.startsWith('tag:yaml.org,2002:') ? `!!${tag.slice('tag:yaml.org,2002:'.length)}` : tag
  report(node, r, {
    code: 'GW001',
    message: `the tag \`${name}\` is not supported here`,
    help: name === '!!binary' ? 'write the text itself, or refer to a file' : 'write the value without a tag',
  })
  r.broken = true
}

/** Warns about plain text that YAML 1.1 parsers read differently. */
export function checkReading(node: Scalar, text: string, r: Reading): void {
  const reading = readingUnderYaml11(text)
  if (reading === undefined) return
  const value = resolvePlain(text)
  const now = typeof value === 'string' ? 'text' : `the number ${value}`
  report(node, r, {
    code: 'GW005',
    message: `\`${text}\` is ${now} in YAML 1.2 and ${reading} in YAML 1.1`,
    ...(typeof value === 'string'
      ? { help: `quote it: '${text}'`, fix: { title: 'quote it', safe: true, text: `'${text}'` } }
      : { help: `write \`${value}\`, or quote it if it is text` }),
  })
}
