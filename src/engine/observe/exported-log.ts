import type { Exchange } from '../../http/exchange.ts'
import type { LogRules } from '../../policies/frontend/telemetry.ts'
import { encodeLog } from '../../protobuf/otlp.ts'
import { hidden, passes } from './access-log.ts'
import { computedValues, placeFields, requestFields } from './record-fields.ts'

/** The access log as OTLP records: the same fields, with rules of its own. */
export class ExportedLog {
  readonly #rules: LogRules
  readonly #sink: { add(record: Uint8Array): void }

  constructor(rules: LogRules, sink: { add(record: Uint8Array): void }) {
    this.#rules = rules
    this.#sink = sink
  }

  /** `duration` in ms. */
  write(x: Exchange, duration: number): void {
    if (!passes(this.#rules, x)) return
    const { add, without } = this.#rules
    const added = computedValues(add, x)
    const left = hidden(without, add.length, added)
    const attributes: [string, unknown][] = []
    const sink = {
      add(name: string, value: string | number) {
        if (!left?.has(name)) attributes.push([name, value])
      },
    }
    placeFields(x, sink)
    requestFields(x, duration, sink)
    for (const { name, value } of added) attributes.push([name, value])
    const time = x.startedAt + duration
    this.#sink.add(encodeLog({ time, observed: time, trace: x.span, attributes }))
  }
}
