import type { JsonBody } from '../../json-body.ts'
import { type Prompts, splitSystem, surround } from '../../prompts.ts'
import { member } from '../../usage.ts'
import type { Format } from '../format.ts'
import { converseErrors } from './events.ts'
import { readUsage } from './reply.ts'

const ADDRESS = /\/model\/([^/?]+)\/converse(-stream)?(?:\?|$)/

/** As AWS SDKs speak to Bedrock's runtime. */
export const converse: Format = {
  name: 'converse',
  errors: converseErrors,
  // Counts are read with the cache in them.
  cache: 'included',
  framed: true,
  address(path) {
    const [, id, stream] = ADDRESS.exec(path) ?? []
    if (id === undefined) return undefined
    try {
      return { model: decodeURIComponent(id), stream: stream !== undefined }
    } catch {
      return undefined
    }
  },
  usage: reply => readUsage(member(reply, 'usage')),
  model: () => undefined,
  addPrompts,
}

function addPrompts(body: JsonBody, prompts: Prompts): void {
  const { system, rest } = splitSystem(prompts)
  const blocks = (part: Prompts['append']) => (part ?? []).map(({ content }) => ({ text: content }))
  const given = body.get('system')
  const all = [...blocks(system.prepend), ...(Array.isArray(given) ? given : []), ...blocks(system.append)]
  if (all.length > 0) body.set('system', all)
  const turns = (part: Prompts['append']) =>
    (part ?? []).map(({ role, content }) => ({ role, content: [{ text: content }] as never }))
  surround(body, 'messages', { prepend: turns(rest.prepend), append: turns(rest.append) })
}
