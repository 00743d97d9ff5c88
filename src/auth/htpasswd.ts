import { createHash, createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FailedAttempts } from './failed-attempts.ts'
import type { PasswordThreads } from './password-threads.ts'

/** Verifies passwords against one stored hash. */
export interface PasswordCheck {
  /** As stored in the file. */
  readonly stored: string
  /** Cost of a check in bcrypt rounds; 0 if negligible. */
  readonly cost: number
  verify(password: string): boolean | Promise<boolean>
}

/** Users and their password hashes, in the format of Apache's `htpasswd`. */
export interface PasswordFile {
  readonly users: ReadonlyMap<string, PasswordCheck>
  /** Problems by line number, without the lines' content. */
  readonly problems: readonly string[]
}

/** Parses `user:hash` lines in MD5 (apr1), bcrypt, SHA-1 and DES crypt; blank lines and `#` comments are skipped. */
export function parsePasswordFile(text: string): PasswordFile {
  const users = new Map<string, PasswordCheck>()
  const problems: string[] = []
  for (const [i, whole] of text.split(/\r?\n/).entries()) {
    const line = whole.trim()
    if (line === '' || line.startsWith('#')) continue
    const colon = line.indexOf(':')
    // Some tools append a comment after a second colon.
    const check = colon > 0 ? passwordCheck(line.slice(colon + 1).split(':')[0] as string) : undefined
    if (check === undefined) problems.push(`line ${i + 1} ${colon > 0 ? UNKNOWN : 'is not `user:hash`'}`)
    else if (users.has(line.slice(0, colon))) problems.push(`line ${i + 1} repeats an earlier user`)
    else users.set(line.slice(0, colon), check)
  }
  return { users, problems }
}

const UNKNOWN = 'has an unsupported password hash: use `htpasswd -B` (bcrypt), or MD5, SHA-1 or crypt'

/** Undefined unless the text is a hash in a supported format. */
export function passwordCheck(stored: string): PasswordCheck | undefined {
  const bcrypt = /^\$2[abxy]?\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(stored)
  if (bcrypt) return { stored, cost: 2 ** Number(bcrypt[1]), verify: checkBcrypt(stored) }
  const md5 = /^(\$apr1\$|\$1\$)([./A-Za-z0-9]{0,8})\$([./A-Za-z0-9]{22})$/.exec(stored)
  if (md5) {
    const [, magic = '', salt = '', digest = ''] = md5
    return { stored, cost: MD5_COST, verify: password => isSame(md5Crypt(password, magic, salt), digest) }
  }
  if (/^\{SHA\}[A-Za-z0-9+/]{27}=$/.test(stored)) {
    return { stored, cost: 0, verify: password => isSame(sha1(password), stored.slice(5)) }
  }
  return /^[./A-Za-z0-9]{13}$/.test(stored) ? { stored, cost: DES_COST, verify: checkDesCrypt(stored) } : undefined
}

/** Each takes a few milliseconds. */
const MD5_COST = 32
const DES_COST = 32

/** Libraries are loaded with the first password of their kind: validating a configuration needs none. */
function checkBcrypt(stored: string): PasswordCheck['verify'] {
  const normal = stored.replace(/^\$2[xy]?\$/, '$2b$')
  return async password => {
    const { compare } = await import('bcryptjs')
    return compare(password, normal)
  }
}

function checkDesCrypt(stored: string): PasswordCheck['verify'] {
  return async password => {
    const { default: crypt } = await import('unix-crypt-td-js')
    return isSame(crypt([...Buffer.from(password)], stored), stored)
  }
}

function sha1(password: string): string {
  return hash('sha1', password, 'base64')
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The output order of the digest bytes, encoded as three to four characters. */
const ORDER = [
  [0, 6, 12],
  [1, 7, 13],
  [2, 8, 14],
  [3, 9, 15],
  [4, 10, 5],
] as const

/**
 * Poul-Henning Kamp's MD5 crypt, of which `apr1` is a variant with a different magic; returns the 22 characters after
 * the salt.
 */
function md5Crypt(password: string, magic: string, salt: string): string {
  const key = Buffer.from(password)
  const inner = md5(key, salt, key)
  const first = createHash('md5').update(key).update(magic).update(salt)
  for (let left = key.length; left > 0; left -= 16) first.update(inner.subarray(0, Math.min(16, left)))
  for (let bits = key.length; bits > 0; bits >>= 1) first.update(bits & 1 ? Buffer.alloc(1) : key.subarray(0, 1))
  let digest: Buffer = first.digest()
  for (let round = 0; round < 1000; round++) {
    const odd = round % 2 === 1
    const parts = [odd ? key : digest, round % 3 ? salt : '', round % 7 ? key : '', odd ? digest : key]
    digest = md5(...parts)
  }
  return encode(digest)
}

function md5(...parts: readonly (Buffer | string)[]): Buffer {
  const state = createHash('md5')
  for (const part of parts) state.update(part)
  return state.digest()
}

function encode(digest: Buffer): string {
  let out = ''
  for (const [a, b, c] of ORDER) {
    out += characters(((digest[a] as number) << 16) | ((digest[b] as number) << 8) | (digest[c] as number), 4)
  }
  return out + characters(digest[11] as number, 2)
}

function characters(value: number, count: number): string {
  let out = ''
  for (let i = 0; i < count; i++) out += ALPHABET[(value >> (6 * i)) & 63]
  return out
}

const MAX_REMEMBERED = 1000
/** UTF-16 units; the cost of a check grows with the password. */
const MAX_PASSWORD = 1024

interface Help {
  /** If unset, slow hashes are computed on the calling thread. */
  readonly threads?: PasswordThreads | undefined
  /** If unset, attempts are unlimited. */
  readonly attempts?: FailedAttempts | undefined
}

/**
 * Verifies user names and passwords. Hashes are slow by design, so verified pairs are cached under a keyed hash that is
 * useless outside this process. They are accepted even while guessing is being throttled.
 */
export class PasswordVerifier {
  readonly #users: ReadonlyMap<string, PasswordCheck>
  readonly #help: Help
  /** Checked for an unknown user, so that it takes as long as the slowest known one. */
  readonly #stand: PasswordCheck | undefined
  readonly #pepper = randomBytes(32)
  readonly #remembered = new Set<string>()

  constructor(users: ReadonlyMap<string, PasswordCheck>, help: Help = {}) {
    this.#users = users
    this.#help = help
    this.#stand = [...users.values()].toSorted((a, b) => b.cost - a.cost)[0]
  }

  /** Synchronous for cached pairs. Throws GatewayError `basicAuth` if attempts are throttled. */
  verify(user: string, password: string, address = ''): boolean | Promise<boolean> {
    if (password.length > MAX_PASSWORD) return false
    const digest = createHmac('sha256', this.#pepper).update(`${user.length}:${user}${password}`).digest('base64')
    return this.#remembered.has(digest) || this.#check(user, password, address, digest)
  }

  async #check(user: string, password: string, address: string, digest: string): Promise<boolean> {
    const own = this.#users.get(user)
    const check = own ?? this.#stand
    if (check === undefined) return false
    const attempt = this.#help.attempts?.begin(address, own && user)
    let right = false
    try {
      right = (await this.#compute(check, password)) && own !== undefined
    } finally {
      attempt?.settle(right)
    }
    if (right) this.#remember(digest)
    return right
  }

  #compute(check: PasswordCheck, password: string): boolean | Promise<boolean> {
    const { threads } = this.#help
    return check.cost === 0 || threads === undefined ? check.verify(password) : threads.check(check.stored, password)
  }

  #remember(digest: string): void {
    if (this.#remembered.size >= MAX_REMEMBERED) {
      const oldest = this.#remembered.values().next().value
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.add(digest)
  }
}
