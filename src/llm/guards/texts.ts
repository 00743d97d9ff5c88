// The texts of a request or response that guards check, and their locations in the body.
import { isExactNumber } from '../../mcp/exact-json.ts'
import { isObject, type JsonObject } from '../chat/json.ts'
import { NO_TEXT } from '../formats/no-text.ts'

/** The role of a text in a conversation. */
const SCOPES = ['systemPrompt', 'messages', 'toolOutput', 'toolInput'] as const
export type Scope = (typeof SCOPES)[number]

/** Consecutive texts of one speaker. */
export interface TextRun {
  readonly scope: Scope
  /** As left by the guards so far. */
  texts: readonly string[]
  readonly sites: readonly TextSite[]
}

/** The location of one text in a body. */
export interface TextSite {
  readonly text: string
  readonly holder: JsonObject | unknown[]
  readonly key: string | number
  /** The list of parts that contains `holder`. */
  readonly list: unknown[] | undefined
}

/** One message of a request, or one choice of a response. */
export interface GuardedMessage {
  readonly role: string
  readonly runs: TextRun[]
  /** Separates the texts where a service gets them joined. */
  readonly joint: string
  /** Included for services that receive messages. */
  readonly told: boolean
}

const BASE64_URL = /^data:[^,]{0,200};base64,/i

/** Collects the texts of a body, message by message. */
export class TextCollector {
  readonly messages: GuardedMessage[] = []
  readonly #changes = new Map<GuardedMessage, () => void>()

  message(role: string, about: { readonly joint?: string; readonly told?: boolean } = {}): MessageTexts {
    const message = { role, runs: [], joint: about.joint ?? ' ', told: about.told ?? true }
    this.messages.push(message)
    return new MessageTexts(message)
  }

  /** Runs `then` when a text of `message` was changed, to remove other copies of it. */
  onChange(message: GuardedMessage, then: () => void): void {
    this.#changes.set(message, then)
  }

  /** Writes `texts` into the body, one per site in order. True if anything changed. */
  write(texts: readonly string[]): boolean {
    let at = 0
    let changed = false
    for (const message of this.messages) {
      const sites = message.runs.flatMap(run => run.sites)
      if (writeTexts(sites, texts.slice(at, at + sites.length))) {
        changed = true
        this.#changes.get(message)?.()
      }
      at += sites.length
    }
    return changed
  }

  /** Collects members that the format does not define, since a provider may read them. */
  unknownMembers(body: JsonObject, known: ReadonlySet<string>): void {
    for (const name in body) {
      if (known.has(name)) continue
      const texts = new MessageTexts({ role: 'user', runs: [], joint: '\n', told: true })
      texts.everything('messages', body, name)
      if (texts.message.runs.length > 0) this.messages.push(texts.message)
    }
  }
}

export class MessageTexts {
  readonly message: GuardedMessage
  readonly #sites = new Map<Scope, TextSite[]>()

  constructor(message: GuardedMessage) {
    this.message = message
  }

  /** Collects the string at `holder[key]`. False if there is none. */
  text(scope: Scope, holder: JsonObject | unknown[], key: string | number, list?: unknown[]): boolean {
    const text = (holder as JsonObject)[key]
    if (typeof text !== 'string') return false
    let sites = this.#sites.get(scope)
    if (sites === undefined) {
      sites = []
      this.#sites.set(scope, sites)
      this.message.runs.push(runOf(scope, sites))
    }
    sites.push({ text, holder, key, list })
    return true
  }

  /** Collects every string inside `holder[key]` that may be read as text. */
  everything(scope: Scope, holder: JsonObject | unknown[], key: string | number): void {
    const value = (holder as JsonObject)[key]
    if (typeof value === 'string') {
      if (!BASE64_URL.test(value)) this.text(scope, holder, key)
    } else if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) this.everything(scope, value, i)
    } else if (isObject(value) && !isExactNumber(value)) {
      const encoded = 'data' in value && ('media_type' in value || 'mimeType' in value || 'mime_type' in value)
      for (const name in value) {
        if (!(NO_TEXT.has(name) || (encoded && name === 'data'))) this.everything(scope, value, name)
      }
    }
  }

  /** Collects a string, or a list of parts that `read` takes one by one; unknown parts are collected whole. */
  content(scope: Scope, holder: JsonObject, key: string, read: (part: JsonObject, list: unknown[]) => boolean): void {
    if (this.text(scope, holder, key)) return
    const list = holder[key]
    if (!Array.isArray(list)) {
      this.everything(scope, holder, key)
      return
    }
    for (let i = 0; i < list.length; i++) {
      const part: unknown = list[i]
      if (!isObject(part) || !read(part, list)) this.everything(scope, list, i)
    }
  }
}

function runOf(scope: Scope, sites: TextSite[]): TextRun {
  let texts: readonly string[] | undefined
  return {
    scope,
    sites,
    get texts() {
      return texts ?? sites.map(site => site.text)
    },
    set texts(changed: readonly string[]) {
      texts = changed
    },
  }
}

/** Writes texts into the body of `sites`. A list part that has lost all its text is removed. */
function writeTexts(sites: readonly TextSite[], texts: readonly string[]): boolean {
  let changed = false
  const emptied = new Map<unknown[], Set<unknown>>()
  for (const [i, { text, holder, key, list }] of sites.entries()) {
    const written = texts[i] as string
    if (written === text) continue
    changed = true
    ;(holder as JsonObject)[key] = written
    if (written !== '' || list === undefined) continue
    const parts = emptied.get(list) ?? new Set()
    emptied.set(list, parts.add(holder))
  }
  for (const [list, parts] of emptied) {
    const kept = list.filter(part => !parts.has(part))
    if (kept.length > 0) list.splice(0, list.length, ...kept)
  }
  return changed
}

/** All texts of some messages in order. Two parses of equal bodies yield the same number. */
export function textsOf(messages: readonly GuardedMessage[]): string[] {
  return messages.flatMap(({ runs }) => runs.flatMap(({ texts }) => texts))
}
