import { visible } from '../../diagnostics/visible.ts'
import type { DumpDocument } from '../config-dump/model.ts'
import { matchWords } from '../config-dump/views.ts'

/** The paths through the gateway as a Graphviz graph. */
export function dotOf(dump: DumpDocument): string {
  const lines = ['digraph gateway {', '  rankdir=LR;', '  node [shape=box];']
  const node = (id: string, label: string, more = '') => lines.push(`  ${quoted(id)} [label=${quoted(label)}${more}];`)
  const edge = (from: string, to: string, label = '') =>
    lines.push(`  ${quoted(from)} -> ${quoted(to)}${label === '' ? '' : ` [label=${quoted(label)}]`};`)
  for (const bind of dump.binds) {
    node(bind.key, `:${bind.port} ${bind.protocol}`, ', shape=cds')
    for (const listener of bind.listeners) edge(bind.key, `listener ${listener}`)
  }
  for (const { key, hostname, protocol } of dump.listeners) node(`listener ${key}`, `${hostname || '*'}\n${protocol}`)
  for (const route of dump.routes) {
    const id = `route ${route.key}`
    node(id, `${route.namespace}/${route.name}\n${Object.keys(route.policies).join(' ')}`.trim())
    edge(`listener ${route.listener}`, id, route.matches.map(matchWords).join('\n'))
    for (const use of route.backends) {
      for (const member of use.routes ?? []) edge(id, `route ${member}`, 'delegates')
      if (use.routeGroup === undefined) edge(id, `backend ${use.backend}`, use.weight === 1 ? '' : String(use.weight))
    }
  }
  for (const backend of dump.backends)
    node(`backend ${backend.key}`, `${backend.name}\n${backend.kind}`, ', style=rounded')
  return `${[...lines, '}'].join('\n')}\n`
}

function quoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
  return `"${escaped.split('\n').map(visible).join('\\n')}"`
}
