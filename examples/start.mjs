// `npm start`: a local model server, the quickstart gateway in front of it, and what to try.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const model = spawn(process.execPath, ['examples/local-model.mjs', '--port', '0', '--delay', '30'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.once('exit', () => model.kill())
const [line] = await once(model.stdout, 'data')
const address = new URL(String(line).match(/http:\/\/\S+/)[0]).host

const gateway = spawn(process.execPath, ['bin/run.js', 'run', '-f', 'examples/quickstart.yaml'], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'pipe'],
  env: { ...process.env, LOCAL_MODEL: address },
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => gateway.kill(signal))
let told = false
gateway.stderr.on('data', chunk => {
  process.stderr.write(chunk)
  if (told || !String(chunk).includes('Serving ')) return
  told = true
  console.log(WHAT_TO_TRY)
})
gateway.once('close', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)))

const WHAT_TO_TRY = `
Try, in another terminal (Ctrl-C here stops the gateway):

  HTTP   curl -i http://localhost:3000/hello
         six times in a row: the sixth answers 429, from the file's limit

  LLM    curl http://localhost:3000/v1/chat/completions \\
           -H 'content-type: application/json' -d '{"model":"any","stream":true,
           "messages":[{"role":"user","content":"hello gateway"}]}'

  MCP    node_modules/.bin/node examples/mcp-tools.mjs http://localhost:3000/mcp
         lists the tools that the rule in the file lets through, and calls one

  See    npx gwctl trace   what happens to the next request, with config lines
         npx gwctl dump    what is loaded
         npx gwctl validate examples/quickstart.yaml
         then break the file and save it: the gateway keeps the old one and
         says why

  Test   npx gwctl test examples
`
