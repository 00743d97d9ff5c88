import type { SourceFile } from './source-files.ts'
import type { Violation } from './violation.ts'

/**
 * Where a package, or a module of Node that reaches outside, may be imported: one place each, so that it can be
 * replaced there and its types stay there.
 */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@kubernetes/client-node': ['src/tools/kube-api/'],
  '@marcbachmann/cel-js': ['src/cel/'],
  '@bufbuild/protobuf': ['src/protobuf/'],
  '@oclif/core': ['src/cli/', 'commands/'],
  ajv: ['src/schema/'],
  bcryptjs: ['src/auth/htpasswd.ts'],
  chalk: ['src/cli/paint.ts'],
  eventsource: ['src/tools/'],
  'gpt-tokenizer': ['src/llm/tokens/vocabulary.ts'],
  ink: ['src/tools/terminal/'],
  re2js: ['src/cel/pattern.ts'],
  react: ['src/tools/terminal/'],
  'unix-crypt-td-js': ['src/auth/htpasswd.ts'],
  yaml: ['src/diagnostics/'],
  'node:child_process': [
    'src/tools/input/git.ts',
    'src/tools/kube-api/',
    'src/tools/terminal/clipboard.ts',
    'src/tools/trace/actions.ts',
  ],
  'node:cluster': [],
  'node:dgram': ['src/engine/inbound/udp-port.ts'],
  'node:dns': ['src/engine/upstream/'],
  'node:fs': [
    'src/cli/file-words.ts',
    'src/cli/manifest.ts',
    'src/config/lints/ai/missing-command.ts',
    'src/diagnostics/failure.ts',
    'src/engine/admin/',
    'src/engine/workers/',
    'src/files/',
    'src/tools/check/',
    'src/tools/diff/',
    'src/tools/events/',
    'src/tools/input/',
    'src/tools/kube-api/',
    'src/tools/profile.ts',
    'src/tools/schemas.ts',
    'src/tools/serve/',
    'src/tools/test/',
    'src/tools/trace/',
    'src/tools/validate.ts',
  ],
  'node:http': [
    'src/engine/admin/',
    'src/engine/workers/',
    'src/tools/admin/',
    'src/tools/events/',
    'src/tools/kube-api/',
  ],
  'node:http2': ['src/engine/inbound/'],
  'node:https': ['src/tools/admin/', 'src/tools/events/', 'src/tools/kube-api/'],
  'node:inspector': ['src/engine/admin/'],
  'node:net': ['src/engine/', 'src/tools/serve/'],
  'node:sqlite': ['src/files/request-database.ts'],
  'node:os': ['src/engine/', 'src/files/', 'src/tools/kube-api/', 'src/tools/serve/'],
  'node:readline': ['src/tools/eval/', 'src/tools/events/'],
  'node:tls': ['src/engine/inbound/', 'src/engine/upstream/'],
  'node:v8': ['src/engine/admin/'],
  'node:worker_threads': ['src/engine/', 'src/tools/serve/'],
}

/**
 * Who else opens files, besides `src/files`, which never waits for a pipe, never takes an endless device whole, and
 * never follows a link out of a stranger's repository.
 */
export const FILE_OPENERS: Readonly<Record<string, string>> = {
  'src/cli/file-words.ts': 'whether a word names a file',
  'src/cli/manifest.ts': 'a file of the package',
  'src/tools/schemas.ts': 'files of the package',
  'src/engine/admin/memory.ts': 'limits of the control group, below /sys',
  'src/tools/events/recording.ts': 'a recording, read as it grows, which a person has named',
  'src/tools/diff/witness/recorded-probes.ts': 'likewise',
  'src/tools/trace/actions.ts': 'a new file, which no link can stand for',
  'src/tools/trace/test-case.ts': 'likewise',
  'src/tools/input/translate-resources.ts': 'files of secrets, after the check of links',
  'src/tools/validate.ts': 'the summary of a job, which the runner names',
}
const OPENS =
  /^(?:readFile|writeFile|appendFile|copyFile|open|openAsBlob|createReadStream|createWriteStream|cp)(?:Sync)?$/

/** Files that are opened past `src/files`. */
export function checkFileAccess(files: readonly SourceFile[], openers = FILE_OPENERS): Violation[] {
  return files.flatMap(file => {
    if (file.path.startsWith('src/files/') || Object.hasOwn(openers, file.path)) return []
    return file.body.flatMap(node => {
      const source = (node.source as { value?: unknown } | undefined)?.value
      if (node.type !== 'ImportDeclaration' || !/^node:fs(?:\/promises)?$/.test(String(source))) return []
      const specifiers = node.specifiers as readonly { imported?: { name?: string } }[]
      const opening = specifiers.filter(({ imported }) => imported?.name === undefined || OPENS.test(imported.name))
      const { line } = node.loc.start
      return opening.map(({ imported }) => {
        return { path: file.path, line, message: `${imported?.name ?? 'all of fs'}: files are opened in src/files` }
      })
    })
  })
}

/** They look at texts alone. */
const PURE: ReadonlySet<string> = new Set(['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'STATUS_CODES'])

/** Packages outside their owner, packages without one, and parts of Node that only an owner may use. */
export function checkOwners(files: readonly SourceFile[], owners = OWNERS): Violation[] {
  const found: Violation[] = []
  for (const file of files) {
    for (const { own, target, specifier, line, typeOnly, names } of file.imports) {
      if (own) continue
      if (names.length > 0 && names.every(name => PURE.has(name))) continue
      const places = Object.hasOwn(owners, target) ? owners[target] : undefined
      const builtin = specifier.startsWith('node:')
      if (places === undefined) {
        if (!builtin) found.push({ path: file.path, line, message: `${target} has no owner in OWNERS` })
      } else if (!places.some(place => file.path.startsWith(place)) && !(builtin && typeOnly)) {
        found.push({ path: file.path, line, message: `${target} belongs to ${places.join(', ') || 'nobody'}` })
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
