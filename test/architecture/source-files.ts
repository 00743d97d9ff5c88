import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parse } from '@babel/parser'

/** One import, export-from or `import()` of a file. */
export interface Import {
  readonly specifier: string
  /** Path from the project's root for a file of ours, the package's name for anything else. */
  readonly target: string
  readonly own: boolean
  /** What it binds by name; empty for a whole module. */
  readonly names: readonly string[]
  readonly typeOnly: boolean
  readonly line: number
}

/** A node of Babel's tree, as far as the checks look into it. */
export interface SyntaxNode {
  readonly type: string
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } }
  readonly [field: string]: unknown
}

export interface SourceFile {
  /** From the project's root, with `/`. */
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
  readonly imports: readonly Import[]
  /** Every node, parents before children. */
  readonly nodes: readonly SyntaxNode[]
  /** The statements of the module itself. */
  readonly body: readonly SyntaxNode[]
  readonly comments: readonly { readonly value: string; readonly line: number }[]
}

/** What a generator writes is judged by what it is made from. */
const GENERATED = 'src/generated/'

/** Every file of ours below the directories, sorted. */
export function readSources(root: string, directories: readonly string[]): SourceFile[] {
  return directories.flatMap(directory => {
    const entries = readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    return entries
      .filter(entry => /\.(tsx?|m?js)$/.test(entry))
      .map(entry => posix.join(directory, entry.replaceAll('\\', '/')))
      .filter(path => !path.startsWith(GENERATED))
      .sort()
      .map(path => parseSource(path, readFileSync(join(root, path), 'utf8')))
  })
}

/** Throws a SyntaxError with the path in its message for a text that is no module. */
export function parseSource(path: string, text: string): SourceFile {
  const tree = parse(text, {
    sourceType: 'module',
    sourceFilename: path,
    plugins: path.endsWith('.tsx') ? ['typescript', 'jsx'] : ['typescript'],
  })
  const nodes = [...walk(tree.program as unknown as SyntaxNode)]
  return {
    path,
    text,
    lines: text.split('\n'),
    imports: nodes.flatMap(node => importsOf(node, path)),
    nodes,
    body: tree.program.body as unknown as SyntaxNode[],
    comments: (tree.comments ?? []).map(comment => ({ value: comment.value, line: comment.loc?.start.line ?? 0 })),
  }
}

function* walk(node: SyntaxNode): Generator<SyntaxNode> {
  yield node
  for (const child of Object.values(node)) {
    for (const candidate of Array.isArray(child) ? child : [child]) {
      if (isNode(candidate)) yield* walk(candidate)
    }
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && 'loc' in value
  )
}

function importsOf(node: SyntaxNode, from: string): Import[] {
  const source = node.source ?? (node.type === 'TSImportType' ? node.argument : undefined)
  const imports = [
    'ImportDeclaration',
    'ExportNamedDeclaration',
    'ExportAllDeclaration',
    'ImportExpression',
    'TSImportType',
  ]
  if (!imports.includes(node.type) || !isNode(source) || typeof source.value !== 'string') return []
  const typeOnly = node.importKind === 'type' || node.exportKind === 'type' || node.type === 'TSImportType'
  const names = specifiersOf(node).flatMap(({ imported }) => (isNode(imported) ? String(imported.name) : []))
  const at = { line: node.loc.start.line, typeOnly: typeOnly || namesOnlyTypes(node) }
  return [{ ...resolve(source.value, from), names, ...at }]
}

/** `import { type A, type B } from` binds nothing at run time either. */
function namesOnlyTypes(node: SyntaxNode): boolean {
  const names = specifiersOf(node)
  return names.length > 0 && names.every(name => name.importKind === 'type' || name.exportKind === 'type')
}

function specifiersOf(node: SyntaxNode): SyntaxNode[] {
  return Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : []
}

function resolve(specifier: string, from: string): Pick<Import, 'specifier' | 'target' | 'own'> {
  if (specifier.startsWith('.')) return { specifier, target: posix.join(posix.dirname(from), specifier), own: true }
  const [scope = '', name] = specifier.split('/')
  return { specifier, target: scope.startsWith('@') ? `${scope}/${name}` : scope, own: false }
}
