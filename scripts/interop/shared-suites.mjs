import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of a public suite's data beside the project (or in GWCTL_SUITES), with a slash at its end. */
export function suiteFolder(name) {
  const parents = [process.env.GWCTL_SUITES, ...['../../../shared/suites', '../../../../shared/suites'].map(here)]
  const found = parents.filter(Boolean).find(parent => existsSync(`${parent}/${name}`))
  return found && `${found}/${name}/`
}

/** What `needs` of a suite answers: a sentence where the data is not there. */
export function missingData(name) {
  if (suiteFolder(name) !== undefined) return undefined
  return `there is no ../shared/suites/${name}; set GWCTL_SUITES to a folder with ${name}/ in it`
}

function here(path) {
  return fileURLToPath(new URL(path, import.meta.url))
}
