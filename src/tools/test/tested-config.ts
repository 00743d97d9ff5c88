import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { leadsOut, placeOf } from '../../files/place.ts'
import type { InputPlace, InputText } from '../input/input-files.ts'
import { readServed } from '../input/served-input.ts'
import type { ReadTestFile } from './read-test-file.ts'

export interface ConfigOptions extends InputPlace {
  /** Overrides the configuration that a file names; relative to `cwd`. */
  readonly config?: string
}

/** The texts of a test file's configuration, or the mistake in naming it. */
type ConfigTexts = { readonly texts: readonly InputText[] } | { readonly wrong: Diagnostic }

export class TestedConfig {
  readonly #options: ConfigOptions
  /** Read once: it may be stdin. */
  #given: Promise<readonly InputText[]> | undefined

  constructor(options: ConfigOptions) {
    this.#options = options
  }

  /** Throws a Failure if the configuration from the options cannot be read. */
  async of({ file, content, finding }: ReadTestFile): Promise<ConfigTexts> {
    if (this.#options.config !== undefined) {
      this.#given ??= readServed(this.#options.config, this.#options)
      return { texts: await this.#given }
    }
    const { config } = content
    if (config === undefined) {
      const help = 'name it with `config`, or with `gwctl test --config PATH`'
      const message = 'the file does not name the configuration that it tests'
      return { wrong: finding({ code: 'GW103', message, path: [], at: 'value', help }) }
    }
    const path = pathOf(config, file)
    const place = placeOf(file.startsWith('<') ? 'stdin' : file, this.#options.cwd)
    if (leadsOut(resolve(this.#options.cwd, path), place)) {
      const message = `\`${config}\` is not read: it is outside of ${place.shown}`
      const help = 'name the configuration with `gwctl test --config PATH`'
      return { wrong: finding({ code: 'GW207', message, path: ['config'], at: 'value', help }) }
    }
    try {
      return { texts: await readServed(path, this.#options) }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const there = existsSync(resolve(this.#options.cwd, path))
      const help = there ? error.help : 'the path is relative to this file; `--config` names another configuration'
      const message = error.message.replace(/\.$/, '')
      return { wrong: finding({ code: 'GW207', message, path: ['config'], at: 'value', ...(help && { help }) }) }
    }
  }
}

/** Relative to the test file; a file named `-` is not stdin. */
export function pathOf(config: string, file: string): string {
  const path = isAbsolute(config) ? config : join(file.startsWith('<') ? '.' : dirname(file), config)
  return path === '-' ? './-' : path
}
