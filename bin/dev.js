#!/usr/bin/env node
// Runs the sources, whether there is a build or not.
import './source.js'

const { start } = await import('../src/cli/main.ts')
await start(new URL('../', import.meta.url))
