import { realtimeTexts } from '../formats/realtime/texts.ts'
import { AskingStage } from './asking-stage.ts'
import type { Guard, Refusal } from './guard.ts'
import { MaskingStage, type StageOutput, type StreamStage } from './masking-stage.ts'
import type { GuardCall } from './run-guards.ts'
import { readEvent, type StreamEvent, textOf } from './stream-event.ts'

export interface RealtimeOutput {
  send(text: string): void
  /** Ends a response: its later events are dropped. `id`: its id, if known. */
  refuse(reason: Refusal | Error, id: string | undefined): void
  /** No call is pending any more. */
  resume(): void
}

/** Number of refused responses whose later events are recognized. */
const MAX_REFUSED = 64

/** A provider's events in a realtime session, behind stream guards. */
export class RealtimeGuard {
  readonly #guards: readonly Guard[]
  readonly #call: GuardCall
  readonly #out: RealtimeOutput
  readonly #refused = new Set<string>()
  #stages: readonly StreamStage[] = []
  /** The current response. */
  #current: string | undefined
  /** The guards are deciding on the end of a response; later events are held. */
  #flushing = false
  #held: string[] = []

  constructor(guards: readonly Guard[], call: GuardCall, out: RealtimeOutput) {
    this.#guards = guards
    this.#call = call
    this.#out = out
    this.#renew()
  }

  get waits(): boolean {
    return this.#flushing || this.#stages.some(stage => stage.waits)
  }

  /** Takes one event. Anything but a JSON object is refused, since it could not be checked. */
  push(text: string): void {
    if (this.#flushing) {
      this.#held.push(text)
      return
    }
    let event: StreamEvent
    try {
      event = readEvent(realtimeTexts, 'message', text)
    } catch (error) {
      this.#stop(error as Error)
      return
    }
    const id = responseOf(event)
    if (id !== undefined && this.#refused.has(id)) return
    this.#current = id ?? this.#current
    const stages = this.#stages
    stages[0]?.push(event)
    // Guards are reset between responses: sessions last for hours.
    if (event.value?.type !== 'response.done' || stages !== this.#stages) return
    this.#flushing = true
    stages[0]?.end()
  }

  #renew(): void {
    const stages: StreamStage[] = []
    let out: StageOutput = { next: event => this.#out.send(textOf(event)), done: () => this.#goOn(stages) }
    for (const guard of this.#guards.toReversed()) {
      const stage: StreamStage = guard.mask
        ? new MaskingStage(guard, guard.mask.bind(guard), realtimeTexts, this.#call, out)
        : new AskingStage(guard, realtimeTexts, this.#call, {
            ...out,
            stop: reason => this.#stop(reason),
            resume: () => this.#out.resume(),
          })
      stages.unshift(stage)
      out = { next: event => stage.push(event), done: () => stage.end() }
    }
    this.#stages = stages
  }

  #stop(reason: Refusal | Error): void {
    const id = this.#current
    if (id !== undefined) this.#refused.add(id)
    const [oldest] = this.#refused
    if (this.#refused.size > MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest)
    this.#out.refuse(reason, id)
    for (const stage of this.#stages) stage.leave()
    this.#goOn(this.#stages)
  }

  #goOn(stages: readonly StreamStage[]): void {
    if (stages !== this.#stages) return
    this.#renew()
    this.#current = undefined
    this.#flushing = false
    const held = this.#held
    this.#held = []
    for (const text of held) this.push(text)
    if (!this.waits) this.#out.resume()
  }
}

function responseOf({ value }: StreamEvent): string | undefined {
  const id = value?.response_id ?? (value?.response as { readonly id?: unknown } | undefined)?.id
  return typeof id === 'string' ? id : undefined
}
