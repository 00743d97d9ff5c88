import { Failure } from '../../diagnostics/failure.ts'
import { findInputs, type InputFile, type InputPlace, isTestFile } from '../input/input-files.ts'

/** Resolves paths to test files: files as given, and every `*.gwtest.yaml` of directories and globs. */
export function findTests(paths: readonly string[], { cwd }: Pick<InputPlace, 'cwd'>): readonly InputFile[] {
  const { files, failures } = findInputs(paths, cwd)
  if (failures[0]) throw failures[0]
  const tests = files.filter(({ file, named }) => named || isTestFile(file))
  if (tests.length > 0) return tests
  const looked =
    files.length === 0
      ? 'no YAML or JSON file is there'
      : `of the YAML and JSON files there (${files.length}) none is named so`
  throw new Failure('input', `there is no *.gwtest.yaml in ${paths.join(' ')}: ${looked}.`, {
    help: 'Write one (docs/test.md), or save a request as one with the key t of `gwctl trace`.',
  })
}
