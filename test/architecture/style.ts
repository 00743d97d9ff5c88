import { posix } from 'node:path'
import { isNode, type SourceFile, type SyntaxNode } from './source-files.ts'
import type { Violation } from './violation.ts'

const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 60
const MAX_COMMAND_LINES = 80
const MAX_FOLDER_ENTRIES = 30
/** Names that say nothing about what is inside. */
const EMPTY_NAMES = ['utils', 'util', 'helpers', 'helper', 'misc', 'common', 'shared', 'lib']

/** `// long: reason` lifts a limit for the file (in its first lines) or for the function below it. */
const LONG = /^\s*(?:\/\/|\*|\/\*\*?)\s*long: \S/

export function checkNames(files: readonly SourceFile[]): Violation[] {
  const folders = new Map<string, Set<string>>()
  const found: Violation[] = []
  for (const { path } of files) {
    const steps = path.split('/')
    for (const [index, step] of steps.entries()) {
      const name = step.replace(/(\.(test|config|bench|d))*\.(tsx?|m?js)$/, '')
      if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) found.push({ path, line: 1, message: `${step} is not kebab-case` })
      if (EMPTY_NAMES.includes(name) && steps[0] !== 'test')
        found.push({ path, line: 1, message: `${step} says nothing about what is inside` })
      if (index === 0) continue
      const folder = steps.slice(0, index).join('/')
      folders.set(folder, (folders.get(folder) ?? new Set()).add(step))
    }
  }
  for (const [path, entries] of folders) {
    if (entries.size > MAX_FOLDER_ENTRIES) {
      found.push({ path, line: 1, message: `has ${entries.size} entries, more than ${MAX_FOLDER_ENTRIES}` })
    }
  }
  return found
}

export function checkSizes(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(file => {
    const limit = file.path.startsWith('commands/') ? MAX_COMMAND_LINES : MAX_FILE_LINES
    const length = file.lines.length - 1
    const long = length > limit && !file.lines.slice(0, 5).some(line => LONG.test(line))
    const whole = long
      ? [{ path: file.path, line: 1, message: `${length} lines, more than ${limit}, and no line says why` }]
      : []
    return [...whole, ...file.nodes.filter(isFunction).flatMap(node => checkFunction(node, file))]
  })
}

function checkFunction(node: SyntaxNode, file: SourceFile): Violation[] {
  const { start, end } = node.loc
  const length = end.line - start.line + 1
  // The reason stands in the comment above, which may have a few lines.
  const above = file.lines.slice(Math.max(0, start.line - 6), start.line)
  if (length <= MAX_FUNCTION_LINES || above.some(line => LONG.test(line))) return []
  return [{ path: file.path, line: start.line, message: `a function of ${length} lines and no line says why` }]
}

function isFunction(node: SyntaxNode): boolean {
  return [
    'FunctionDeclaration',
    'FunctionExpression',
    'ArrowFunctionExpression',
    'ClassMethod',
    'ClassPrivateMethod',
    'ObjectMethod',
  ].includes(node.type)
}

/** What the type checker and the reader rely on: no holes in types, no hidden state, one way to import. */
export function checkHabits(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(file => [
    ...file.nodes.flatMap(node => habitsOf(node, file)),
    ...file.body.flatMap(statement => moduleState(statement, file)),
    ...file.comments.flatMap(comment => {
      const bad = /@ts-(?:ignore|nocheck|expect-error)|\b(?:TODO|FIXME|XXX|HACK)\b/.exec(comment.value)
      const bare = /biome-ignore [\w/]+(?::\s*$|\s*$)/.exec(comment.value)
      const word = bad?.[0] ?? (bare === null ? undefined : 'biome-ignore without a reason')
      return word === undefined ? [] : [{ path: file.path, line: comment.line, message: word }]
    }),
  ])
}

function habitsOf(node: SyntaxNode, file: SourceFile): Violation[] {
  const at = (message: string) => [{ path: file.path, line: node.loc.start.line, message }]
  if (node.type === 'TSAnyKeyword' && !anyIsExplained(node, file)) return at('any')
  if (node.type === 'ExportDefaultDeclaration' && !mayExportDefault(file.path)) return at('default export')
  if (node.type === 'MemberExpression' && isNode(node.object) && node.object.type === 'Identifier') {
    if (node.object.name === 'console') return at('console: output goes through the streams of Io')
    const property = isNode(node.property) ? node.property.name : undefined
    if (node.object.name === 'process' && property === 'exit' && file.path !== 'src/cli/main.ts') {
      return at('process.exit: only src/cli/main.ts ends the process')
    }
  }
  return []
}

/** Some constraints of generic types cannot be said without it; the line above has to say why. */
function anyIsExplained(node: SyntaxNode, file: SourceFile): boolean {
  return /biome-ignore lint\/suspicious\/noExplicitAny: \S/.test(file.lines[node.loc.start.line - 2] ?? '')
}

function moduleState(statement: SyntaxNode, file: SourceFile): Violation[] {
  const inner = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  if (!isNode(inner) || inner.type !== 'VariableDeclaration' || inner.kind === 'const') return []
  return [{ path: file.path, line: inner.loc.start.line, message: `module-level ${inner.kind}` }]
}

function mayExportDefault(path: string): boolean {
  return posix.dirname(path) === 'commands'
}

/** A test that runs alone or not at all hides the others. */
export function checkTests(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(file =>
    file.nodes.flatMap(node => {
      if (node.type !== 'MemberExpression' || !isNode(node.object) || !isNode(node.property)) return []
      const call = `${node.object.name}.${node.property.name}`
      const bad = /^(?:test|it|describe)\.(?:only|skip|todo|fails)$/.test(call)
      return bad ? [{ path: file.path, line: node.loc.start.line, message: call }] : []
    }),
  )
}
