import { comparisonsOf, neededBy, termsWithin } from '../../../cel/terms/terms.ts'
import { didYouMean } from '../../../diagnostics/suggest.ts'
import type { Lint } from '../lint.ts'
import { mcpBackends } from '../sites.ts'

const KINDS = new Set(['tool', 'prompt', 'resource', 'task'])

/** GW570: a rule about a tool that also names a prompt, which nothing satisfies. Alternatives are not reported. */
export const mcpKinds: Lint = file => {
  file.visitTerms(({ node, term, path }) => {
    if (node.scope !== 'mcp') return
    const [first, ...others] = neededBy(term).filter(([root, kind = '']) => root === 'mcp' && KINDS.has(kind))
    const other = others.find(each => each[1] !== first?.[1])
    if (!first || !other) return
    const place = [...termsWithin(term)].find(each => each.kind === 'reference' && each.path === other)
    file.report({
      code: 'GW570',
      message: `\`mcp.${first[1]}\` and \`mcp.${other[1]}\` are never set together, so this rule never matches`,
      path: [...path],
      at: 'value',
      ...(place && { span: place.span }),
      label: 'not there',
      help: 'write a rule for each, or join them with `||`',
    })
  })
}

/** GW524: a rule about a target that does not exist, or about a name as clients see it instead of the target's own. */
export const mcpNames: Lint = file => {
  const targets = mcpBackends(file.config).flatMap(backend => backend.targets.map(target => target.name))
  if (targets.length === 0) return
  file.visitTerms(({ node, term, path }) => {
    if (node.scope !== 'mcp') return
    for (const { path: named, op, literal } of [...termsWithin(term)].flatMap(comparisonsOf)) {
      const [root, kind = '', field, ...more] = named
      const name = literal.value
      if (root !== 'mcp' || !KINDS.has(kind) || more.length > 0 || typeof name !== 'string') continue
      if ((op !== '==' && op !== 'in') || (field !== 'name' && field !== 'target')) continue
      const prefix = field === 'name' ? targets.find(target => name.startsWith(`${target}_`)) : undefined
      if (prefix === undefined && (field === 'name' || targets.includes(name))) continue
      file.report({
        code: 'GW524',
        message:
          prefix === undefined
            ? `no MCP target is named \`${name}\``
            : `rules see names without the prefix \`${prefix}_\``,
        path: [...path],
        at: 'value',
        span: [literal.span[0] + 1, literal.span[1] - 1],
        label: 'never equal',
        help:
          prefix === undefined
            ? (didYouMean(name, targets) ?? `targets: ${targets.map(each => `\`${each}\``).join(', ')}`)
            : `write \`"${name.slice(prefix.length + 1)}"\`, and \`mcp.tool.target == "${prefix}"\` for that target only`,
      })
    }
  })
}
