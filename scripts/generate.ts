// `npm run generate` writes every generated file; with `-- --check` it writes nothing and fails on any difference.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Generator } from './generators/generator.ts'
import { GENERATORS } from './generators/index.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** A committed file and what it has to be; no text means that it has to go. */
export interface Difference {
  readonly path: string
  readonly text: string | undefined
}

/** What is not as the generator would write it now. */
export async function differences(generator: Generator): Promise<Difference[]> {
  const wanted = await generator.outputs()
  const found: Difference[] = []
  for (const [path, text] of wanted) {
    if ((await readIfThere(join(root, path))) !== text) found.push({ path, text })
  }
  for (const directory of generator.owns ?? []) {
    for (const path of await filesIn(directory)) {
      if (!wanted.has(path)) found.push({ path, text: undefined })
    }
  }
  return found
}

async function apply({ path, text }: Difference): Promise<void> {
  const file = join(root, path)
  if (text === undefined) return rm(file)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isFile()).map(entry => relative(root, join(entry.parentPath, entry.name)))
}

function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

async function main(check: boolean): Promise<void> {
  for (const generator of GENERATORS) {
    const found = await differences(generator)
    for (const difference of found) {
      if (!check) await apply(difference)
      process.stdout.write(`${generator.name}: ${difference.path} ${check ? 'is stale' : 'written'}\n`)
    }
    if (check && found.length > 0) process.exitCode = 1
  }
  if (process.exitCode === 1) process.stderr.write('Run `npm run generate` and commit what it writes.\n')
}

if (import.meta.main) await main(process.argv.includes('--check'))
