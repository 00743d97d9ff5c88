import type { Metafile } from 'esbuild'
import type { Violation } from './violation.ts'

/** What checking a file never needs: it would cost start-up and could reach outside. */
export const NOT_FOR_VALIDATE = [
  'node_modules/ink/',
  'node_modules/react/',
  'node_modules/eventsource/',
  'node_modules/@kubernetes/',
  'node_modules/@bufbuild/',
  'src/engine/',
  'src/tools/terminal/',
  'src/tools/trace/',
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
export function checkLoads(inputs: Metafile['inputs'], entry: string, forbidden = NOT_FOR_VALIDATE): Violation[] {
  const found: Violation[] = []
  const cameFrom = new Map<string, string | undefined>([[entry, undefined]])
  for (const [path] of cameFrom) {
    const chain = () => chainTo(path, cameFrom)
    if (forbidden.some(prefix => path.startsWith(prefix))) {
      found.push({ path: entry, line: 1, message: `loads ${chain()}` })
      continue
    }
    for (const { path: target, external } of inputs[path]?.imports ?? []) {
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
