import type { Lint } from '../lint.ts'

/** GW510: a credential in plain text, readable by anyone who can read the file. */
export const literalSecret: Lint = file => {
  file.visit('string', ({ node, value, path }) => {
    if (node.kind !== 'string' || node.secret !== true || typeof value !== 'string') return
    // Most environment variables are not secrets, and password hashes are meant to be stored.
    if (path.includes('env') || path.includes('htpasswd') || value === '') return
    const written = file.textAt(path)
    if (written === '' || written.includes('$')) return
    const inKeyList = path.at(-1) === 'key' && typeof path.at(-2) === 'number'
    file.report({
      code: 'GW510',
      message: 'a secret is written in the file itself',
      path: [...path],
      at: 'value',
      label: 'readable by everybody who can read the file',
      help: inKeyList
        ? 'write `keyHash: sha256:…` of it, or take it from the environment: `$NAME`'
        : 'take it from the environment (`$NAME`) or from a file (`file: path`) where the field allows one',
    })
  })
}
