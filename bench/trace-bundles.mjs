// What the benchmarks of tracing have in common: the gateway with and without the calls that trace.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** `backend`: HOST:PORT. */
export const config = backend => `
config: {adminAddr: 127.0.0.1:0, statsAddr: 127.0.0.1:0, readinessAddr: 127.0.0.1:0, logging: {level: error, filter: 'false'}}
binds:
- port: 1
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /v1}}]
      policies:
        cors: {allowOrigins: ['*']}
        requestHeaderModifier: {set: {x-gateway: bench}}
        authorization: {rules: [{deny: 'request.headers["x-role"] == "guest"'}]}
        localRateLimit: [{maxTokens: 100000000, tokensPerFill: 100000000, fillInterval: 1s}]
      backends: [{host: '${backend}'}]
`

/** The sources without what the trace needs on the way of a request. */
const withoutTrace = {
  name: 'without-trace',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/(calls|engine|policies|backends|cel)\/.*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
        .replaceAll(/^\s*x\.trace = .*$/gm, '')
        .replaceAll(/^\s*this\.running\.(add|delete)\(x\)$/gm, '')
        .replaceAll(/^\s*x\.waitingIn = .*$/gm, '')
        .replaceAll(/\b(?:\w+\.)?x\.trace\b/g, 'undefined')
      return { contents, loader: 'ts' }
    })
  },
}

/** `contents` imports from the root of the project and may ask for `BARE`. Returns the file. */
export async function bundle(folder, name, contents, bare) {
  const outfile = join(folder, `${name}.mjs`)
  await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    minifySyntax: true,
    define: { BARE: String(bare) },
    banner: { js: "import { createRequire as _r } from 'node:module'; const require = _r(import.meta.url);" },
    plugins: bare ? [withoutTrace] : [],
    logLevel: 'error',
  })
  return outfile
}

export const median = list => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]
