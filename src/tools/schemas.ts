import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Failure } from '../diagnostics/failure.ts'
import { didYouMean } from '../diagnostics/suggest.ts'

const ENDING = '.schema.json'

/** One name per line, with the schema's title. */
export function listSchemas(): string {
  const names = schemaNames()
  const width = Math.max(...names.map(name => name.length))
  return names.map(name => `${name.padEnd(width)}  ${titleOf(name)}\n`).join('')
}

/** By file name or title, case-insensitively. Throws a usage Failure that names the nearest one. */
export function findSchema(wanted: string): { readonly text: string; readonly url: string } {
  const names = schemaNames()
  const folded = fold(wanted)
  const name = names.find(each => fold(each) === folded || fold(titleOf(each)) === folded)
  if (name === undefined) {
    const guess = didYouMean(wanted, [...names, ...names.map(titleOf)])
    throw new Failure('usage', `there is no schema ${wanted}${guess === undefined ? '.' : `: ${guess}`}`, {
      help: `Schemas: ${names.join(', ')}.`,
    })
  }
  const path = join(schemaFolder(), `${name}${ENDING}`)
  return { text: readFileSync(path, 'utf8'), url: pathToFileURL(path).href }
}

function fold(name: string): string {
  return name.replace(/[-_ ]/g, '').toLowerCase()
}

function schemaNames(): string[] {
  return readdirSync(schemaFolder())
    .filter(file => file.endsWith(ENDING))
    .map(file => file.slice(0, -ENDING.length))
    .sort()
}

function titleOf(name: string): string {
  const { title } = JSON.parse(readFileSync(join(schemaFolder(), `${name}${ENDING}`), 'utf8')) as { title?: string }
  return title ?? ''
}

/** Beside `dist` in the package, beside `src` in a checkout: the nearest one above this module. */
function schemaFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); dirname(folder) !== folder; folder = dirname(folder)) {
    const schemas = join(folder, 'schemas')
    if (existsSync(join(folder, 'package.json')) && existsSync(schemas)) return schemas
  }
  throw new Error('the folder of schemas is missing from the package')
}
