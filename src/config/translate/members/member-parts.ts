import { asFields, asItems, asText, type Fields } from '../../resources/resource.ts'
import { byName, defined, type Policies, strings } from './member-context.ts'

export function transformationMember(part: Fields): Policies {
  const entries = asItems(part.conditional)
  if (entries.length > 0) {
    return {
      conditional: entries.map(entry =>
        defined({ condition: entry.condition, ...transformationMember(asFields(entry.policy) ?? {}) }),
      ),
    }
  }
  return defined({ request: side(asFields(part.request)), response: side(asFields(part.response)) })
}

function side(part: Fields | undefined): Policies | undefined {
  if (!part) return undefined
  return defined({
    set: byName(part.set),
    add: byName(part.add),
    remove: strings(part.remove),
    body: part.body,
    metadata: part.metadata && { ...(part.metadata as Fields) },
  })
}

/** Set, add and remove of fixed header fields. */
export function headerChanges(part: Fields | undefined): Policies | undefined {
  if (!part) return undefined
  return defined({ set: byName(part.set), add: byName(part.add), remove: strings(part.remove) })
}

export function credentialLocation(part: unknown): Policies | undefined {
  const place = asFields(part)
  if (!place) return undefined
  const named = (name: string) => asFields(place[name]) && { ...asFields(place[name]) }
  return defined({
    header: named('header'),
    queryParameter: named('queryParameter'),
    cookie: named('cookie'),
    expression: asText(place.expression),
  })
}

export function keepalives(part: Fields): Policies {
  return { time: part.time ?? '180s', interval: part.interval ?? '180s', retries: part.retries ?? 9 }
}
