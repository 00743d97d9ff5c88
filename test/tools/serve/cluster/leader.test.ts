import { expect, test } from 'vitest'
import type { Answer } from '../../../../src/tools/kube-api/api-client.ts'
import { Leader } from '../../../../src/tools/serve/cluster/leader.ts'
import { ManualClock } from '../../../engine/manual-clock.ts'

interface Lease {
  readonly metadata: { readonly resourceVersion: string }
  readonly spec: { readonly holderIdentity: string; readonly leaseDurationSeconds: number }
}

/** The Lease, as an API server keeps it. */
class Leases {
  held: Lease | undefined
  /** Calls wait until they are let through. */
  gate: Promise<void> = Promise.resolve()
  #version = 0

  async get(): Promise<Answer> {
    await this.gate
    return this.held ? { value: { ...this.held } } : { refusal: { status: 404, message: 'not found' } }
  }

  async send(_method: string, _path: string, body?: object): Promise<Answer> {
    await this.gate
    const { metadata } = body as Lease
    if (this.held && metadata.resourceVersion !== this.held.metadata.resourceVersion) {
      return { refusal: { status: 409, message: 'the object has been modified' } }
    }
    this.hold(body as Lease)
    return { value: { ...this.held } }
  }

  hold({ spec }: Pick<Lease, 'spec'>): void {
    this.held = { metadata: { resourceVersion: String(++this.#version) }, spec }
  }
}

class Turns extends ManualClock {
  /** Of the wall, against the monotonic clock. */
  jump = 0
  override now(): number {
    return super.now() + this.jump
  }
}

function replica(leases: Leases, clock: ManualClock, identity: string) {
  const told: boolean[] = []
  const log = { log: () => {}, child: () => log }
  const world = { client: leases, clock, log, namespace: 'infra', lease: 'gwctl', identity }
  const leader = new Leader({ ...world, changed: leading => told.push(leading) })
  leader.start()
  return { leader, told }
}

async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 1000) {
    clock.advance(1000)
    for (let i = 0; i < 8; i++) await Promise.resolve()
  }
}

test('a replica whose renewal is not answered stops before another may start', async () => {
  const [leases, clock] = [new Leases(), new Turns()]
  const { told } = replica(leases, clock, 'a')
  await pass(clock, 4000)
  expect(told).toEqual([true])
  const gate = Promise.withResolvers<void>()
  leases.gate = gate.promise
  await pass(clock, 11_000)
  expect(told).toEqual([true, false])
  gate.resolve()
  await pass(clock, 4000)
  expect(told).toEqual([true, false, true])
})

test('a Lease that somebody else has taken is theirs for as long as they renew it', async () => {
  const [leases, clock] = [new Leases(), new Turns()]
  const { told } = replica(leases, clock, 'a')
  await pass(clock, 4000)
  const theirs = { spec: { holderIdentity: 'b', leaseDurationSeconds: 15 } }
  leases.hold(theirs)
  await pass(clock, 2000)
  expect(told).toEqual([true, false])
  for (let i = 0; i < 5; i++) {
    await pass(clock, 10_000)
    leases.hold(theirs)
  }
  expect(told).toEqual([true, false])
  await pass(clock, 18_000)
  expect(told).toEqual([true, false, true])
})

test.each([-86_400_000, 86_400_000])('a clock that jumps by %i ms changes nothing', async jump => {
  const [leases, clock] = [new Leases(), new Turns()]
  const first = replica(leases, clock, 'a')
  await pass(clock, 1000)
  const second = replica(leases, clock, 'b')
  await pass(clock, 4000)
  clock.jump = jump
  await pass(clock, 30_000)
  expect([first.told, second.told]).toEqual([[true], []])
})
