import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import { Failure } from '../diagnostics/failure.ts'
import { ipVersion } from '../http/ip-version.ts'
import type { DryRequest } from '../tools/dry-run/dry-run.ts'
import type { Io } from './io.ts'

const many = { multiple: true, multipleNonGreedy: true } as const

/** A request in the options of curl, with the facts that a network connection would add. */
export const requestFlags = {
  header: Flags.string({ ...many, char: 'H', helpValue: 'NAME: VALUE', summary: 'Header field. Repeatable.' }),
  data: Flags.string({ ...many, char: 'd', helpValue: 'DATA', summary: 'Body; @FILE reads a file. Repeatable.' }),
  json: Flags.string({
    helpValue: 'DATA',
    summary: 'JSON body with its header fields, as for curl; @FILE reads a file.',
  }),
  curl: Flags.string({ helpValue: 'FILE', summary: 'A saved curl command, as browsers copy it, instead of a URL.' }),
  'jwt-claims': Flags.string({
    aliases: ['jwt'],
    helpValue: 'JSON',
    summary: 'Claims of a token that is treated as signed; @FILE reads a file. Omitted iss, aud and exp are valid.',
  }),
  'api-key': Flags.string({
    helpValue: 'NAME',
    summary: 'Send the configured API key whose metadata has this name, or these fields ({"team": "a"}).',
  }),
  source: Flags.string({ helpValue: 'IP', summary: "The client's address; 127.0.0.1 when unset." }),
  'tls-sni': Flags.string({
    helpValue: 'NAME',
    summary: 'TLS server name (SNI); the host of the URL when unset.',
  }),
  at: Flags.custom<number>({
    helpValue: 'TIME',
    summary: 'Time of the request, RFC 3339; now when unset.',
    parse: async text => parseTime(text),
  })(),
}

export const requestArg = Args.string({
  multiple: true,
  ignoreStdin: true,
  description: '[METHOD] URL. After --, also options of curl, or a whole curl command.',
})

type RequestFlags = InferredFlags<typeof requestFlags>

/** Throws a Failure: `usage`, or `input` for a file that cannot be read. */
export async function requestOf(
  words: readonly string[],
  flags: RequestFlags,
  io: Io,
  example: string,
): Promise<DryRequest> {
  const { parseCurl } = await import('../tools/curl/curl-request.ts')
  const saved = flags.curl === undefined ? [] : await savedWords(flags.curl, io)
  if (saved.length > 0 && words.length > 0) {
    throw new Failure('usage', 'The request is given twice: by --curl and in words.', {
      help: 'Leave one of them out.',
    })
  }
  const all = [...words, ...saved, ...optionsOf(flags)]
  const { method, url, hostless, headers, body } = parseCurl(all, { cwd: io.cwd, example })
  const { source } = flags
  if (source !== undefined && ipVersion(source) === 0) {
    throw new Failure('usage', `--source takes an IP address, not ${source}.`)
  }
  return {
    method,
    url: hostless ? `${url.pathname}${url.search}` : url.href,
    headers,
    body,
    source,
    sni: flags['tls-sni'],
    jwt: flags['jwt-claims'] === undefined ? undefined : await jsonObject('--jwt-claims', flags['jwt-claims'], io),
    apiKey: flags['api-key'] === undefined ? undefined : await apiKeyOf(flags['api-key'], io),
  }
}

/** RFC 3339, or a date → ms since the epoch. */
function parseTime(text: string): number {
  const time = /^\d{4}-\d\d-\d\d(?:$|[Tt ])/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new Failure('usage', `${text} is not a time. Write 2026-01-31T12:00:00Z.`)
  return time
}

async function savedWords(file: string, io: Io): Promise<readonly string[]> {
  const { readInput } = await import('../tools/input/input-files.ts')
  const { shellWords } = await import('../tools/curl/shell-words.ts')
  const words = shellWords((await readInput(file, io)).text, file)
  if (words[0] === 'curl') return words
  throw new Failure('input', `${file} contains no curl command.`, { help: 'Its first word has to be curl.' })
}

function optionsOf({ header = [], data = [], json }: RequestFlags): string[] {
  const fields = header.flatMap(each => ['-H', each])
  return [...fields, ...data.flatMap(each => ['-d', each]), ...(json === undefined ? [] : ['--json', json])]
}

async function apiKeyOf(text: string, io: Io): Promise<Readonly<Record<string, unknown>>> {
  return /^[{@]/.test(text) ? jsonObject('--api-key', text, io) : { name: text }
}

async function jsonObject(flag: string, text: string, io: Io): Promise<Readonly<Record<string, unknown>>> {
  const { readInput } = await import('../tools/input/input-files.ts')
  const given = text.startsWith('@') ? (await readInput(text.slice(1), io)).text : text
  const value = parsed(given)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  const example = `For example: ${flag} '{"sub": "alice"}', or ${flag} @FILE.`
  throw new Failure('usage', `${flag} takes a JSON object.`, { help: example })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
