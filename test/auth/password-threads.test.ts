import { expect, test } from 'vitest'
import { PasswordThreads } from '../../src/auth/password-threads.ts'
import type { PasswordAnswer, PasswordQuestion, PasswordThread } from '../../src/runtime/password-thread.ts'

class PlayedThread implements PasswordThread {
  readonly asked: PasswordQuestion[] = []
  ended = false
  #told: (answer: PasswordAnswer | undefined) => void = () => {}

  check(question: PasswordQuestion): void {
    this.asked.push(question)
  }
  onAnswer(told: (answer: PasswordAnswer | undefined) => void): void {
    this.#told = told
  }
  answer(right: boolean): void {
    this.#told({ id: this.asked.at(-1)!.id, right })
  }
  die(): void {
    this.#told(undefined)
  }
  end(): void {
    this.ended = true
  }
}

function played() {
  const started: PlayedThread[] = []
  const threads = new PasswordThreads(() => {
    started.push(new PlayedThread())
    return started.at(-1)!
  })
  return { started, threads }
}

test('starts no thread before the first password, and at most two', async () => {
  const { started, threads } = played()
  expect(started).toHaveLength(0)
  const answers = ['a', 'b', 'c'].map(password => threads.check('hash', password))
  expect(started.map(({ asked }) => asked.map(({ password }) => password))).toEqual([['a'], ['b']])
  started[1]!.answer(false)
  expect(started[1]!.asked.map(({ password }) => password)).toEqual(['b', 'c'])
  started[1]!.answer(true)
  started[0]!.answer(true)
  expect(await Promise.all(answers)).toEqual([true, false, true])
})

test('rejects immediately when too many checks are pending', async () => {
  const { threads } = played()
  for (let i = 0; i < 66; i++) threads.check('hash', 'x').catch(() => {})
  expect(() => threads.check('hash', 'x')).toThrow('too many passwords are being checked')
})

test('a thread that dies fails only its own check and is replaced', async () => {
  const { started, threads } = played()
  const lost = threads.check('hash', 'a')
  started[0]!.die()
  await expect(lost).rejects.toThrow('too many passwords are being checked')
  const next = threads.check('hash', 'b')
  started[1]!.answer(true)
  expect(await next).toBe(true)
})

test('closing terminates the threads', () => {
  const { started, threads } = played()
  threads.check('hash', 'a').catch(() => {})
  threads.close()
  expect(started[0]!.ended).toBe(true)
})
