// Lets the sources run without a build: in a checkout, and where npm installed a git repository. Node strips types by
// itself, but not below `node_modules`.
import { readFileSync } from 'node:fs'
import { createRequire, registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'

const own = new URL('../', import.meta.url).href

registerHooks({
  load(url, context, nextLoad) {
    const { pathname } = new URL(url)
    if (!url.startsWith(own) || !/\.tsx?$/.test(pathname) || url.startsWith(`${own}node_modules/`)) {
      return nextLoad(url, context)
    }
    const text = readFileSync(fileURLToPath(url), 'utf8')
    const source = pathname.endsWith('x') ? withoutJsx(text, url) : quietly(() => stripTypeScriptTypes(text))
    return { format: 'module', source, shortCircuit: true }
  },
})

/** Only the terminal view is written in JSX, which takes the build tool. */
function withoutJsx(text, url) {
  const { transformSync } = createRequire(import.meta.url)('esbuild')
  return transformSync(text, { loader: 'tsx', jsx: 'automatic', sourcemap: 'inline', sourcefile: url }).code
}

/** Node 22 and 24 call it an experiment, on every start. */
function quietly(work) {
  const warn = process.emitWarning
  process.emitWarning = () => {}
  try {
    return work()
  } finally {
    process.emitWarning = warn
  }
}
