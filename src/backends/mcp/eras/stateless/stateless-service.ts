import type { Exchange } from '../../../../http/exchange.ts'
import { HEADER_MISMATCH } from '../../../../mcp/errors.ts'
import type { JsonOutline } from '../../../../mcp/json-outline.ts'
import type { Message, Notification, Request } from '../../../../mcp/message.ts'
import type { Answer } from '../../answer.ts'
import { Calls } from '../../call.ts'
import { deliver } from '../../deliver.ts'
import { Targets } from '../../targets.ts'
import type { Era, EraPlace, EraService } from '../era.ts'
import { refuseVersion } from '../versions.ts'

/** Takes each request by itself: its targets are reached for it alone. */
export class StatelessService implements EraService {
  readonly #era: Era
  readonly #place: EraPlace

  constructor(era: Era, place: EraPlace) {
    this.#era = era
    this.#place = place
  }

  /** One target speaks this era for itself; several have no common voice. */
  admit(message: Message, outline: JsonOutline, answer: Answer): void {
    const { setup, router, versions } = this.#place
    const { x } = answer
    if (message.kind === 'response') {
      answer.refuse(400, 'a response answers nothing here')
      return
    }
    if (setup.multiple || setup.targets[0]?.kind !== 'mcp') {
      const others = versions.filter(version => !this.#era.versions.includes(version))
      refuseVersion(message, x.request.headers.get('mcp-protocol-version') ?? '', others, answer)
      return
    }
    if (x.request.headers.has('mcp-session-id')) {
      answer.refuse(400, 'this protocol version has no sessions')
      return
    }
    if (!namesAgree(x, message)) {
      const error = { code: HEADER_MISMATCH, message: 'Mcp-Name header and body disagree' }
      answer.fail(400, message.kind === 'request' ? message.id : null, error)
      return
    }
    const targets = new Targets(setup.targets, {
      clock: setup.runtime.clock,
      failOpen: setup.failOpen,
      onDown() {},
      greeting: () => undefined,
    })
    answer.onEnd(() => targets.close())
    const conversation = { era: this.#era, targets, calls: new Calls(targets, setup.runtime.clock) }
    deliver(setup, router, conversation, message, outline, answer)
  }
}

/** What the gateway authorizes by the body must be what intermediaries route by the header. */
function namesAgree(x: Exchange, message: Request | Notification): boolean {
  const given = x.request.headers.get('mcp-name')?.trim()
  const { name, uri } = message.params
  const named = typeof name === 'string' ? name : uri
  if (given === undefined || typeof named !== 'string') return true
  const encoded = /^=\?base64\?(.*)\?=$/.exec(given)
  return (encoded ? Buffer.from(encoded[1] as string, 'base64').toString() : given) === named
}
