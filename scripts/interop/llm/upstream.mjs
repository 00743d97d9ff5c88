// One server in place of every provider: it answers each task in the provider's own format, written down here from the
// provider's documentation and not with the product's code, and keeps what it was asked.
import { createServer } from 'node:http'
import { anthropic } from './providers/anthropic.mjs'
import { bedrock } from './providers/bedrock.mjs'
import { google } from './providers/google.mjs'
import { openai } from './providers/openai.mjs'
import { FORECAST, GREETING, PERSON, PICTURE, PROMPTS, SEEN, TOOL, WEATHER } from './tasks.mjs'

/** Formats of all providers: which path asks for one, the type of such a request, and how it answers. */
const FORMATS = [...openai, ...anthropic, ...google, ...bedrock]

export async function startUpstream() {
  /** Who asks now, and requests as they came, for the check of their types. */
  const upstream = { url: '', asking: '', seen: [], close: undefined }
  const server = createServer((req, res) => {
    const chunks = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => answer(req, res, Buffer.concat(chunks).toString(), upstream))
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  upstream.url = `http://127.0.0.1:${server.address().port}`
  upstream.close = () => new Promise(done => server.close(done).closeAllConnections())
  return upstream
}

function answer(req, res, text, { asking, seen }) {
  const path = req.url.replace(/\?.*/, '')
  const format = FORMATS.find(({ path: pattern }) => pattern.test(path))
  const wrong = format === undefined ? `no endpoint ${req.method} ${req.url}` : format.wrong?.(req, JSON.parse(text))
  if (wrong) {
    res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: wrong } }))
    return
  }
  const body = JSON.parse(text)
  seen.push({ asking, type: format.type, body, path: req.url })
  if (text.includes(PROMPTS.error)) {
    const headers = { 'content-type': 'application/json', ...format.errorHeaders }
    res.writeHead(429, headers).end(JSON.stringify(format.error('Slow down.')))
    return
  }
  const streamed = format.streams?.(req, body) === true
  const chunks = streamed ? format.stream(sayTo(text), body) : [JSON.stringify(format.reply?.(sayTo(text), body))]
  res.writeHead(200, { 'content-type': streamed ? format.streamType : 'application/json' })
  for (const chunk of chunks) res.write(chunk)
  res.end()
}

/** The task that a request is about, by what stands in it; a picture has to have come with it. */
function sayTo(text) {
  if (text.includes(PROMPTS.tools)) {
    // What the tools said is in the history, and nowhere else.
    const answered = Object.values(WEATHER).every(said => new RegExp(`[:"]${said}`).test(text.replaceAll('\\', '')))
    if (answered) return { text: FORECAST }
    return { calls: Object.keys(WEATHER).map((city, i) => ({ id: `call_${i + 1}`, name: TOOL.name, args: { city } })) }
  }
  // Some clients have what they want written as the arguments of a tool.
  if (text.includes(PROMPTS.json)) {
    const tool = /"name":"(person|extract|json)"/.exec(text)?.[1]
    const forced =
      /"(?:ANY|allowedFunctionNames)"|"tool_?[cC]hoice":(?:"required"|\{"(?:any|tool|type":"(?:any|tool|function))")/.test(
        text,
      )
    if (tool && forced) return { calls: [{ id: 'call_1', name: tool, args: PERSON }] }
    return { text: JSON.stringify(PERSON) }
  }
  if (text.includes(PROMPTS.picture)) return { text: text.includes(PICTURE) ? SEEN : 'No picture.' }
  return { text: GREETING }
}
