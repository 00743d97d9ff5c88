import { didYouMean } from '../../../diagnostics/suggest.ts'
import type { Lint } from '../lint.ts'
import { mcpBackends } from '../sites.ts'

const LITERAL = /\bmcp\.(tool|prompt|resource)\.(target|name)\s*==\s*(["'])([^"'\\]*)\3/g

const KIND = /\bmcp\.(tool|prompt|resource|task)\b/g

/** GW570: a rule about a tool that is a prompt as well; it holds for nothing. Alternatives are left alone. */
export const mcpKinds: Lint = file => {
  file.visit('cel', ({ node, value, path }) => {
    if (node.kind !== 'cel' || node.scope !== 'mcp' || typeof value !== 'string') return
    if (!value.includes('&&') || /\|\||[?!]|\b(?:has|default|coalesce)\(/.test(value)) return
    const [first, ...others] = [...value.matchAll(KIND)]
    const other = others.find(each => each[1] !== first?.[1])
    if (!first || !other) return
    file.report({
      code: 'GW570',
      message: `\`${first[0]}\` and \`${other[0]}\` are never there together: this rule holds for no item`,
      path: [...path],
      at: 'value',
      span: [other.index, other.index + other[0].length],
      label: 'not there',
      help: 'write a rule for each, or join them with `||`',
    })
  })
}

/** GW524: a rule about a target that is not there, or about a name as clients see it instead of as the target does. */
export const mcpNames: Lint = file => {
  const targets = mcpBackends(file.config).flatMap(backend => backend.targets.map(target => target.name))
  if (targets.length === 0) return
  file.visit('cel', ({ node, value, path }) => {
    if (node.kind !== 'cel' || node.scope !== 'mcp' || typeof value !== 'string') return
    for (const found of value.matchAll(LITERAL)) {
      const [, , field, , name] = found as unknown as readonly [string, string, string, string, string]
      const prefix = field === 'name' ? targets.find(target => name.startsWith(`${target}_`)) : undefined
      if (prefix === undefined && (field === 'name' || targets.includes(name))) continue
      const start = found.index + found[0].length - name.length - 1
      file.report({
        code: 'GW524',
        message:
          prefix === undefined
            ? `no MCP target is named \`${name}\``
            : `rules see names without the prefix \`${prefix}_\``,
        path: [...path],
        at: 'value',
        span: [start, start + name.length],
        label: 'never equal',
        help:
          prefix === undefined
            ? (didYouMean(name, targets) ?? `targets: ${targets.map(each => `\`${each}\``).join(', ')}`)
            : `write \`"${name.slice(prefix.length + 1)}"\`, and \`mcp.tool.target == "${prefix}"\` for that target only`,
      })
    }
  })
}
