import { resolve } from 'node:path'
import { cannotRead, Failure } from '../../diagnostics/failure.ts'
import { readAnyFile } from '../../files/read-file.ts'
import type { Stub } from '../dry-run/dry-run.ts'

/** `BACKEND=STATUS[:FILE]`, `BACKEND=down`. Throws a Failure. */
export function parseStub(text: string, cwd: string): readonly [name: string, stub: Stub] {
  const [, name, answer, file] = /^(.+)=(?:down|(\d{3})(?::(.+))?)$/s.exec(text) ?? []
  const status = Number(answer)
  if (name === undefined || status < 200 || status > 599) {
    throw new Failure('usage', `${text} is not a stub.`, {
      help: 'Write BACKEND=STATUS, BACKEND=STATUS:FILE with the body, or BACKEND=down; * stands for every backend.',
    })
  }
  if (answer === undefined) return [name, { unreachable: true }]
  if (file === undefined) return [name, { status }]
  try {
    return [name, { status, body: readAnyFile(resolve(cwd, file)) }]
  } catch (error) {
    throw cannotRead(`${file}, the body of the stub ${name}`, error)
  }
}
