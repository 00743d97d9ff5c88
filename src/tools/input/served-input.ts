import { resolve } from 'node:path'
import { Failure } from '../../diagnostics/failure.ts'
import { holdsResources } from '../check/check-documents.ts'
import {
  findInputs,
  type InputPlace,
  type InputText,
  isTestFile,
  readInput,
  readInputFile,
  statOf,
} from './input-files.ts'

/** The text of a file, or the texts of the resources in a directory. Throws a Failure if there is nothing to serve. */
export async function readServed(path: string, place: InputPlace): Promise<readonly InputText[]> {
  if (isTestFile(path)) {
    const help = `\`gwctl test ${path}\` runs them. Name the configuration that they are about.`
    throw new Failure('input', `${path} holds test cases, not a configuration.`, { help })
  }
  if (path === '-' || !isDirectory(path, place.cwd)) return [await readInput(path, place)]
  const { files, failures } = findInputs([path], place.cwd)
  if (failures[0]) throw failures[0]
  const texts: InputText[] = []
  for (const input of files) texts.push({ file: input.file, text: (await readInputFile(input, place)).text })
  const resources = texts.filter(holdsResources)
  if (resources.length > 0) return resources
  throw new Failure('input', `${path} holds no resources to serve.`, {
    help: 'Of standalone configurations one is served: name its file.',
  })
}

/** Throws an input Failure on a system error. */
export function isDirectory(path: string, cwd: string): boolean {
  return statOf(path, resolve(cwd, path))?.isDirectory() === true
}
