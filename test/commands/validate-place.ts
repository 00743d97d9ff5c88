import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'

const root = new URL('../../', import.meta.url)

export const GOOD = `binds:
- port: 3000
  listeners:
  - routes:
    - backends:
      - host: 127.0.0.1:8000
`
/** One error, with a safe fix. */
export const BAD = GOOD.replace('- host:', '- hsot:')
/** One warning: the file that it names is not there. */
export const WARNS = `${GOOD}      policies:
        basicAuth:
          mode: strict
          htpasswd:
            file: no-such-file
`
export const RESOURCE = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - port: 80
`

/** A folder of files and a shell in it. */
export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'gwctl-validate-'))

  write(files: Readonly<Record<string, string | Buffer>>): this {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true })
      writeFileSync(join(this.folder, name), content)
    }
    return this
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8')
  }

  async validate(argv: readonly string[], options: Parameters<typeof memoryIo>[0] = {}) {
    const io = memoryIo({ cwd: this.folder, ...options })
    const code = await main(['validate', ...argv], io, root)
    return { code, out: io.stdout.text, err: io.stderr.text }
  }

  /** The codes that are reported, with their lines, as `a.yaml:6 GW102`. */
  async findings(argv: readonly string[], options: Parameters<typeof memoryIo>[0] = {}): Promise<string[]> {
    const { out } = await this.validate([...argv, '-o', 'ndjson'], options)
    return out
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
      .map(({ file, range, code }) => `${file}:${range.start.line} ${code}`)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
