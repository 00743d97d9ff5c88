import type { McpItem } from '../../../http/exchange.ts'
import { splitName, splitUri } from '../../../mcp/names.ts'
import type { Answer } from '../answer.ts'
import type { Conversation } from '../conversation.ts'
import type { McpSetup } from '../setup.ts'
import type { Link } from '../targets.ts'
import { takeInventory } from './inventory.ts'

interface Asked {
  readonly kind: McpItem['kind']
  /** The name that the client uses. */
  readonly given: string
}

/** The target of an item, and the item's own name. */
export interface Owner {
  readonly link: Link
  readonly name: string
}

export function findOwner(
  setup: McpSetup,
  conversation: Conversation,
  { kind, given }: Asked,
  answer: Answer,
  then: (owner: Owner | undefined) => void,
): void {
  const { naming, multiple } = setup
  const byName = kind === 'tool' || kind === 'prompt'
  if (byName && setup.lookUp) {
    lookUp(setup, conversation, kind, given, answer, then)
    return
  }
  if (!(byName ? naming.names : naming.uris)) {
    const link = multiple ? undefined : conversation.targets.links[0]
    then(link && { link, name: given })
    return
  }
  const parts = byName ? splitName(given) : splitUri(given)
  const link = parts && conversation.targets.link(parts.target)
  then(link && { link, name: parts.name })
}

function lookUp(
  setup: McpSetup,
  conversation: Conversation,
  kind: 'tool' | 'prompt',
  given: string,
  answer: Answer,
  then: (owner: Owner | undefined) => void,
): void {
  const method = kind === 'tool' ? 'tools/list' : 'prompts/list'
  const found = (): Link | undefined => {
    const owner = conversation.targets.inventory.get(method)?.get(given)
    return owner === 'ambiguous' ? undefined : owner
  }
  const known = found()
  if (known) {
    then({ link: known, name: given })
    return
  }
  takeInventory(setup, conversation, method, answer, () => {
    const link = found()
    then(link && { link, name: given })
  })
}
