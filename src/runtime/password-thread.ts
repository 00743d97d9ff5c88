/** A thread that verifies passwords one at a time. */
export interface PasswordThread {
  check(question: PasswordQuestion): void
  /** `undefined`: the thread has ended, and pending questions stay unanswered. */
  onAnswer(told: (answer: PasswordAnswer | undefined) => void): void
  end(): void
}

export interface PasswordQuestion {
  readonly id: number
  /** As stored in the password file. */
  readonly stored: string
  readonly password: string
}

export interface PasswordAnswer {
  readonly id: number
  readonly right: boolean
}
