import { expect, test } from 'vitest'
import { ClientSession } from '../../../src/backends/mcp/eras/sessions/client-session.ts'
import { sessions } from '../../../src/backends/mcp/eras/sessions/index.ts'
import { SessionStore } from '../../../src/backends/mcp/eras/sessions/session-store.ts'
import { NOBODY } from '../../../src/mcp/request-meta.ts'
import type { Clock } from '../../../src/runtime/runtime.ts'

/** Runs what is due when time is moved on. */
class HandClock implements Clock {
  #now = 0
  #waiting: { readonly at: number; readonly run: () => void }[] = []

  now = () => this.#now
  mono = () => this.#now

  after(ms: number, run: () => void) {
    const entry = { at: this.#now + ms, run }
    this.#waiting.push(entry)
    const cancel = () => {
      this.#waiting = this.#waiting.filter(each => each !== entry)
    }
    return { cancel }
  }

  pass(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const next = this.#waiting.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      this.#waiting = this.#waiting.filter(each => each !== next)
      this.#now = next.at
      next.run()
    }
    this.#now = end
  }
}

const TTL = 30 * 60_000

function place(max: number) {
  const clock = new HandClock()
  const store = new SessionStore('mcp', clock, TTL, max)
  let serial = 0
  const begin = (client: string): ClientSession | undefined => {
    const session = new ClientSession([], {
      era: sessions,
      clock,
      failOpen: false,
      principal: undefined,
      client,
      eras: [],
      facts: NOBODY,
      clientVersion: '',
      nonce: '',
      key: Buffer.alloc(32),
      onEnd: (ended, targets) => store.remove(ended, targets),
    })
    if (!store.admit(session)) return undefined
    session.id = `s${serial++}`
    store.add(session)
    return session
  }
  const use = (session: ClientSession | undefined) => {
    if (!session) throw new Error('no session')
    store.use(session)
    session.lastUsed = clock.mono()
    return session
  }
  return { clock, store, begin, use, open: () => store.openSessions().length }
}

test('a client that floods with unused sessions keeps no one else out', () => {
  const { begin, use, open } = place(100)
  const kept = use(begin('worker'))
  for (let i = 0; i < 10_000; i++) begin('flood')
  expect(open()).toBe(100)
  const late = use(begin('late'))
  for (let i = 0; i < 10_000; i++) begin('flood')
  expect(kept.ended).toBe(false)
  expect(late.ended).toBe(false)
  expect(open()).toBe(100)
})

test('a newly opened session outlives those of a flooding client', () => {
  const { begin } = place(100)
  for (let i = 0; i < 1000; i++) begin('flood')
  const late = begin('late')
  for (let i = 0; i < 1000; i++) begin('flood')
  expect(late?.ended).toBe(false)
})

test('a client holding all slots loses one per newcomer, and sessions with calls go last', () => {
  const { clock, begin, use, open } = place(10)
  const hoard = Array.from({ length: 10 }, () => {
    clock.pass(1)
    return use(begin('hoard'))
  })
  hoard[0]!.active = 1
  use(begin('late'))
  expect(hoard.map(({ ended }) => ended).indexOf(true)).toBe(1)
  for (const session of hoard) session.active = 1
  expect(begin('third')).toBeDefined()
  expect(open()).toBe(10)
})

test('a client holding all slots gets no more until its own sessions are idle', () => {
  const { clock, begin, use } = place(10)
  for (let i = 0; i < 10; i++) use(begin('busy'))
  expect(begin('busy')).toBeUndefined()
  clock.pass(61_000)
  expect(begin('busy')).toBeDefined()
})

test('an unused session expires after a minute, a used one after its TTL', () => {
  const { clock, begin, use } = place(10)
  const unused = begin('a')
  const used = use(begin('a'))
  clock.pass(91_000)
  expect([unused?.ended, used.ended]).toEqual([true, false])
  clock.pass(TTL)
  expect(used.ended).toBe(true)
})

test('counts sessions that are still opening', () => {
  const { clock, store } = place(3)
  const opening = (client: string) =>
    new ClientSession([], {
      era: sessions,
      clock,
      failOpen: false,
      principal: undefined,
      client,
      eras: [],
      facts: NOBODY,
      clientVersion: '',
      nonce: '',
      key: Buffer.alloc(32),
      onEnd: (ended, targets) => store.remove(ended, targets),
    })
  expect([1, 2, 3, 4].map(() => store.admit(opening('flood')))).toEqual([true, true, true, false])
  expect(store.admit(opening('other'))).toBe(true)
})
