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
  if (!isNode(inner) || inner.type !== 'VariableDeclaration') return []
  const keeps = inner.kind !== 'const' || (inner.declarations as SyntaxNode[]).some(fillsUp)
  return keeps
    ? [{ path: file.path, line: inner.loc.start.line, message: `module-level ${inner.kind} that changes` }]
    : []
}

/** An empty collection that no type says to be read-only, or what the first caller makes for all. */
function fillsUp({ id, init }: SyntaxNode): boolean {
  if (!isNode(init) || !isNode(init.callee) || (isNode(id) && isNode(id.typeAnnotation))) return false
  if (init.type === 'CallExpression') return init.callee.name === 'once'
  const { name } = init.callee
  return init.type === 'NewExpression' && /^(?:Weak)?(?:Map|Set)$/.test(String(name)) && isEmpty(init.arguments)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** What a file gives to others, some other file takes: by its name, which is told apart from others of that name only roughly. */
export function checkExports(files: readonly SourceFile[], users: readonly SourceFile[]): Violation[] {
  const takers = new Map<string, Set<string>>()
  for (const { path, nodes } of [...files, ...users]) {
    for (const { type, name } of nodes) {
      if (type !== 'Identifier') continue
      const paths = takers.get(String(name))
      if (paths) paths.add(path)
      else takers.set(String(name), new Set([path]))
    }
  }
  return files.flatMap(file =>
    file.body.flatMap(statement =>
      exportedValues(statement)
        .filter(name => takers.get(name)?.size === 1)
        .map(name => ({ path: file.path, line: statement.loc.start.line, message: `nothing else uses \`${name}\`` })),
    ),
  )
}

function exportedValues({ type, declaration }: SyntaxNode): string[] {
  if (type !== 'ExportNamedDeclaration' || !isNode(declaration)) return []
  const { id, declarations } = declaration
  const ids = Array.isArray(declarations) ? declarations.map(each => (each as SyntaxNode).id) : [id]
  const values = /^(?:Function|Class|Variable)Declaration$/.test(declaration.type)
  return values ? ids.flatMap(each => (isNode(each) && each.type === 'Identifier' ? [String(each.name)] : [])) : []
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
