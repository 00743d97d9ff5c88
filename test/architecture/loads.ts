import type { Metafile } from 'esbuild'
import type { Violation } from './violation.ts'

/** What checking a file never needs: it would cost start-up and could reach outside. */
export const NOT_FOR_VALIDATE = [
  'node_modules/ink/',
  'node_modules/react/',
  'node_modules/eventsource/',
  'node_modules/@kubernetes/',
  'src/engine/',
  'src/tools/terminal/',
  'src/tools/trace/',
]

/** What serves requests: it is loaded late, and not at all where a file is only checked. */
export const NOT_AT_ONCE = [
  'node_modules/@bufbuild/',
  'node_modules/bcryptjs/',
  'node_modules/gpt-tokenizer/',
  'src/backends/ai/call.ts',
  'src/backends/mcp/endpoint.ts',
  'src/backends/mcp/http-connection.ts',
  'src/llm/formats/codecs.ts',
  'src/llm/formats/converse/codec.ts',
  'src/llm/formats/generate-content/codec.ts',
]

/** Sockets and servers; a module of ours that imports one can open one. */
const SOCKETS = [
  'node:http',
  'node:https',
  'node:http2',
  'node:tls',
  'node:dgram',
  'http',
  'https',
  'http2',
  'tls',
  'dgram',
]

/** Everything that `entry` loads, lazily or not, and must not; with the chain of imports that leads there. */
export function checkLoads(
  inputs: Metafile['inputs'],
  entry: string,
  forbidden = NOT_FOR_VALIDATE,
  kinds: 'all' | 'at once' = 'all',
): Violation[] {
  const found: Violation[] = []
  const cameFrom = new Map<string, string | undefined>([[entry, undefined]])
  for (const [path] of cameFrom) {
    const chain = () => chainTo(path, cameFrom)
    if (forbidden.some(prefix => path.startsWith(prefix))) {
      found.push({ path: entry, line: 1, message: `loads ${chain()}` })
      continue
    }
    for (const { path: target, external, kind } of inputs[path]?.imports ?? []) {
      if (kinds === 'at once' && kind === 'dynamic-import') continue
      if (external !== true) {
        if (!cameFrom.has(target)) cameFrom.set(target, path)
      } else if (SOCKETS.includes(target) && !path.startsWith('node_modules/')) {
        found.push({ path: entry, line: 1, message: `loads ${chain()} → ${target}` })
      }
    }
  }
  return found
}

function chainTo(path: string, cameFrom: ReadonlyMap<string, string | undefined>): string {
  const before = cameFrom.get(path)
  return before === undefined ? path : `${chainTo(before, cameFrom)} → ${path}`
}
