// The package that users install: the bundle, which imports no package, and a manifest without dependencies. The
// repository's own package.json is the one of its checkout: it names what the bundle is made from, and pins Node.js.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Fields that mean the same in both manifests. `oclif` and `dependencies` are about the sources. */
const MANIFEST_FIELDS = [
  'name',
  'version',
  'description',
  'keywords',
  'homepage',
  'bugs',
  'repository',
  'license',
  'type',
  'bin',
  'engines',
]

const CONTENTS = [
  'bin/run.js',
  'bin/start.js',
  'bin/kept-script.js',
  'bin/own-node.js',
  'dist',
  'schemas',
  'oclif.manifest.json',
  'docs',
  'examples',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  // So that a repository that holds the package works as one of hooks.
  '.pre-commit-hooks.yaml',
]

export function packageJson() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

/**
 * Writes the package into a folder, around the dist/ that was made from `inputs`. What else is in the folder stays.
 */
export function assemble(folder, inputs) {
  mkdirSync(folder, { recursive: true })
  for (const path of CONTENTS) {
    rmSync(join(folder, path), { recursive: true, force: true })
    cpSync(join(root, path), join(folder, path), { recursive: true })
  }
  const own = packageJson()
  const manifest = Object.fromEntries(MANIFEST_FIELDS.map(field => [field, own[field]]))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), licences(inputs))
  const source = own.repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
  for (const page of pagesIn(folder)) {
    const text = readFileSync(join(folder, page), 'utf8')
    writeFileSync(join(folder, page), withWorkingLinks(text, page, folder, source))
  }
}

/** A link to what only the repository holds becomes a link to the repository. */
function withWorkingLinks(text, page, folder, source) {
  return text.replace(/\]\(([^)\s#]+)(#[^)\s]*)?\)/g, (link, target, anchor = '') => {
    if (/^[a-z]+:/i.test(target)) return link
    const path = posix.join(posix.dirname(page), target)
    if (existsSync(join(folder, path)) || !existsSync(join(root, path))) return link
    return `](${source}/blob/main/${path}${anchor})`
  })
}

function pagesIn(folder) {
  const docs = readdirSync(join(folder, 'docs'), { recursive: true }).map(path => posix.join('docs', path))
  return ['README.md', 'CHANGELOG.md', ...docs].filter(path => path.endsWith('.md'))
}

/** The licences of the packages that the bundle holds, which want to travel with their code. */
function licences(inputs) {
  // Plugins of the build put a word of theirs in front of the path.
  const places = inputs.flatMap(path => /(?<![^:/])node_modules\/.*/.exec(path)?.[0] ?? [])
  const folders = new Set(places.flatMap(path => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []))
  const texts = [...folders].sort().map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find(entry => /^licen[cs]e/i.test(entry))
    const text = file === undefined ? '' : `\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`
    return `${name} ${version} (${license})\n${text}`
  })
  return `gwctl contains code of these packages.\n\n${texts.join(`\n${'-'.repeat(72)}\n\n`)}`
}
