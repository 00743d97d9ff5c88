/** A thread that checks one password after another. */
export interface PasswordThread {
  check(question: PasswordQuestion): void
  /** `undefined`: the thread has ended, and with it whatever it was asked. */
  onAnswer(told: (answer: PasswordAnswer | undefined) => void): void
  end(): void
}

export interface PasswordQuestion {
  readonly id: number
  /** As the password file has it. */
  readonly stored: string
  readonly password: string
}

export interface PasswordAnswer {
  readonly id: number
  readonly right: boolean
}
