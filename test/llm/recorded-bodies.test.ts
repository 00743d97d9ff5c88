import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CHAT_FORMATS, type ChatFormat } from '../../src/llm/chat/chat.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import { isObject, type JsonObject } from '../../src/llm/chat/json.ts'
import { type Losses, Untranslatable } from '../../src/llm/chat/losses.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'

// Bodies as providers and their clients write them (fixtures/llm), each in every other format.

interface Recorded {
  readonly name: string
  readonly request?: JsonObject
  readonly reply?: JsonObject
  readonly events?: readonly (JsonObject | string | [string, JsonObject])[]
  readonly error?: unknown
  readonly status?: number
}

const facts = { id: 'id_1', model: 'm', created: 7, usage: true }
const MODELS: Readonly<Record<ChatFormat, string>> = {
  completions: 'llama',
  messages: 'claude-sonnet-4-5',
  responses: 'gpt-5',
  generateContent: 'gemini-2.5-pro',
  converse: 'anthropic.claude-sonnet-4-5',
}

function recorded(format: ChatFormat): Recorded[] {
  const file = new URL(`../../fixtures/llm/${format}.jsonl`, import.meta.url)
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

function others(format: ChatFormat): ChatFormat[] {
  return CHAT_FORMATS.filter(other => other !== format)
}

/** Undefined for what cannot be converted; any other failure is a mistake. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof Untranslatable) return undefined
    throw error
  }
}

const NEW = 'newInTheFuture'

/** A copy with a new member in every object, and where these are. */
function withNews(value: unknown, at: string, news: Map<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each, i) => withNews(each, `${at}[${i}]`, news))
  if (!isObject(value)) return value
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withNews(each, at === '' ? name : `${at}.${name}`, news)]),
  )
  const text = `news ${news.size} of the future`
  news.set(at === '' ? NEW : `${at}.${NEW}`, text)
  return { ...copy, [NEW]: text }
}

/** Where nobody looks for what is said: counts, ratings, schemas, and what repeats the request. */
const ASIDE =
  /^(?:usage|usageMetadata|metrics|metadata|reasoning|text|performanceConfig|stream_options|incomplete_details)\b|safetyRatings|logprobs|_filter_results|schema|[sS]chema|parameters|inputSchema|\.(?:citations|annotations|caller|thinking_blocks|thinking|function_call|audio|source|format)\b/

/** The news that are neither in `text` nor named. */
function silent(news: ReadonlyMap<string, string>, text: string, { list }: Losses): string[] {
  return [...news]
    .filter(([path, said]) => !ASIDE.test(path) && !text.includes(said))
    .map(([path]) => path)
    .filter(
      path =>
        !list.some(loss => path === loss.path || path.startsWith(`${loss.path}.`) || path.startsWith(`${loss.path}[`)),
    )
}

function messageIn(value: unknown): string | undefined {
  if (Array.isArray(value)) return messageIn(value[0])
  if (!isObject(value)) return undefined
  const text = value.message ?? value.Message
  return typeof text === 'string' ? text : messageIn(value.error)
}

describe.each(CHAT_FORMATS)('%s', format => {
  const all = recorded(format)

  test.each(all.filter(({ request }) => request).map(each => [each.name, each.request as JsonObject]))(
    'as a request: %s',
    (_name, request) => {
      // Google takes either spelling of a name.
      const given = CODECS[format].request.normal?.(request) ?? request
      for (const to of others(format)) {
        const asked = { model: MODELS[to], stream: request.stream === true }
        attempt(() => new Conversion(CODECS[format], CODECS[to]).request(request, asked))
        const news = new Map<string, string>()
        const body = withNews(given, '', news) as JsonObject
        const conversion = new Conversion(CODECS[format], CODECS[to])
        const sent = attempt(() => JSON.stringify(conversion.request(body, asked)))
        if (sent !== undefined) expect(silent(news, sent, conversion.losses), `to ${to}`).toEqual([])
      }
    },
  )

  test.each(all.filter(({ reply }) => reply).map(each => [each.name, each.reply as JsonObject]))(
    'as a reply: %s',
    (_name, reply) => {
      for (const client of others(format)) {
        attempt(() => new Conversion(CODECS[client], CODECS[format]).replyAsStream(reply, facts))
        const news = new Map<string, string>()
        const body = withNews(reply, '', news)
        const conversion = new Conversion(CODECS[client], CODECS[format])
        const got = attempt(() => JSON.stringify(conversion.reply(body, facts).body))
        if (got !== undefined) expect(silent(news, got, conversion.losses), `for ${client}`).toEqual([])
      }
    },
  )

  test.each(all.filter(({ events }) => events).map(each => [each.name, each.events ?? []] as const))(
    'as a stream: %s',
    (_name, events) => {
      for (const client of others(format)) {
        const stream = new Conversion(CODECS[client], CODECS[format]).stream(facts)
        const ends: string[] = []
        let out = ''
        for (const event of events) {
          const [name, data] = Array.isArray(event) ? event : [undefined, event]
          out += stream.push({ name, data: typeof data === 'string' ? data : JSON.stringify(data) })
          if (stream.over) ends.push(out)
        }
        out += stream.end()
        expect(stream.over, `for ${client}`).toBe(true)
        // What comes behind the end adds nothing.
        expect(new Set(ends).size, `for ${client}`).toBeLessThan(2)
        expect(out, `for ${client}`).not.toMatch(/undefined|NaN|\[object/)
      }
    },
  )

  test.each(all.filter(({ error }) => error).map(each => [each.name, each] as const))(
    'as an error: %s',
    (_name, { error, status = 500 }) => {
      const said = messageIn(error)
      for (const client of others(format)) {
        const { body } = new Conversion(CODECS[client], CODECS[format]).error(status, error)
        expect(JSON.stringify(body), `for ${client}`).toContain(JSON.stringify(said))
      }
    },
  )
})
