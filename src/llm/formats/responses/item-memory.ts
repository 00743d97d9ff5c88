import { isObject, type JsonObject, listOf } from '../../chat/json.ts'

/** Bytes of all items, and of one. */
const LIMIT = 16 * 1024 * 1024
const LARGEST = 512 * 1024

/**
 * Output items of converted responses by id: clients that rely on OpenAI's storage send them back as `item_reference`.
 * The oldest are evicted. Ids are random, so clients cannot refer to each other's items.
 */
export class ItemMemory {
  readonly #items = new Map<string, string>()
  #bytes = 0

  keep(item: JsonObject): void {
    const { id } = item
    const text = JSON.stringify(item)
    if (typeof id !== 'string' || text.length > LARGEST) return
    this.#drop(id)
    this.#items.set(id, text)
    this.#bytes += text.length
    for (const oldest of this.#items.keys()) {
      if (this.#bytes <= LIMIT) break
      this.#drop(oldest)
    }
  }

  /** The body with references resolved; unknown ones are left as they are. */
  resolve(body: JsonObject): JsonObject {
    const input = listOf(body.input)
    if (!input.some(isReference)) return body
    return { ...body, input: input.map(item => (isReference(item) ? (this.#find(item.id) ?? item) : item)) }
  }

  #find(id: unknown): JsonObject | undefined {
    const text = typeof id === 'string' ? this.#items.get(id) : undefined
    return text === undefined ? undefined : (JSON.parse(text) as JsonObject)
  }

  #drop(id: string): void {
    this.#bytes -= this.#items.get(id)?.length ?? 0
    this.#items.delete(id)
  }
}

function isReference(item: unknown): item is JsonObject {
  return isObject(item) && item.type === 'item_reference'
}
