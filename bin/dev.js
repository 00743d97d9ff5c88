#!/usr/bin/env node
// Runs the sources without a build. Node strips types by itself; only JSX needs help.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'

registerHooks({
  load(url, context, nextLoad) {
    if (!url.endsWith('.tsx')) return nextLoad(url, context)
    const text = readFileSync(fileURLToPath(url), 'utf8')
    const { code } = transformSync(text, { loader: 'tsx', jsx: 'automatic', sourcemap: 'inline', sourcefile: url })
    return { format: 'module', source: code, shortCircuit: true }
  },
})

const { start } = await import('../src/cli/main.ts')
await start(new URL('../', import.meta.url))
