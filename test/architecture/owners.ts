import type { SourceFile } from './source-files.ts'
import type { Violation } from './violation.ts'

/**
 * Where a package, or a module of Node that reaches outside, may be imported: one place each, so that it can be
 * replaced there and its types stay there.
 */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@marcbachmann/cel-js': ['src/cel/'],
  '@oclif/core': ['src/cli/', 'commands/'],
  ajv: ['src/schema/'],
  bcryptjs: ['src/auth/htpasswd.ts'],
  chalk: ['src/cli/paint.ts'],
  eventsource: ['src/tools/'],
  ink: ['src/tools/terminal/'],
  jose: ['src/auth/'],
  re2js: ['src/cel/pattern.ts'],
  react: ['src/tools/terminal/'],
  'unix-crypt-td-js': ['src/auth/htpasswd.ts'],
  yaml: ['src/diagnostics/'],
  'node:child_process': ['src/engine/', 'src/tools/', 'src/backends/mcp/stdio.ts'],
  'node:cluster': ['src/engine/', 'src/tools/'],
  'node:dgram': ['src/engine/'],
  'node:dns': ['src/engine/'],
  'node:http': ['src/engine/', 'src/tools/'],
  'node:http2': ['src/engine/'],
  'node:https': ['src/engine/', 'src/tools/'],
  'node:tls': ['src/engine/'],
  'node:worker_threads': ['src/engine/', 'src/tools/'],
}

/** Packages outside their owner, packages without one, and parts of Node that only an owner may use. */
export function checkOwners(files: readonly SourceFile[], owners = OWNERS): Violation[] {
  const found: Violation[] = []
  for (const file of files) {
    for (const { own, target, specifier, line, typeOnly } of file.imports) {
      if (own) continue
      const places = Object.hasOwn(owners, target) ? owners[target] : undefined
      const builtin = specifier.startsWith('node:')
      if (places === undefined) {
        if (!builtin) found.push({ path: file.path, line, message: `${target} has no owner in OWNERS` })
      } else if (!places.some(place => file.path.startsWith(place)) && !(builtin && typeOnly)) {
        found.push({ path: file.path, line, message: `${target} belongs to ${places.join(', ')}` })
      }
      if (specifier === '@oclif/core') {
        found.push({
          path: file.path,
          line,
          message: '@oclif/core loads everything: import @oclif/core/command and the like',
        })
      }
    }
    if (reachesOut(file.path)) continue
    for (const node of file.nodes) {
      const callee = node.type === 'CallExpression' ? (node.callee as { type: string; name?: string }) : undefined
      if (callee?.type === 'Identifier' && callee.name === 'fetch') {
        found.push({
          path: file.path,
          line: node.loc.start.line,
          message: 'fetch: the way out is the runtime of the context',
        })
      }
    }
  }
  return found
}

function reachesOut(path: string): boolean {
  return path.startsWith('src/tools/') || path.startsWith('src/engine/')
}
