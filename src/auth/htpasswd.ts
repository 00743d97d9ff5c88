import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Checks one password against one stored hash; a promise when that takes long. */
export type PasswordCheck = (password: string) => boolean | Promise<boolean>

/** Users and their passwords, as Apache's `htpasswd` writes them. */
export interface PasswordFile {
  readonly users: ReadonlyMap<string, PasswordCheck>
  /** What is wrong with which line, without what it holds. */
  readonly problems: readonly string[]
}

/** Reads `user:hash` lines in MD5 (apr1), bcrypt, SHA-1 and DES crypt; blank lines and `#` comments are skipped. */
export function parsePasswordFile(text: string): PasswordFile {
  const users = new Map<string, PasswordCheck>()
  const problems: string[] = []
  for (const [i, whole] of text.split(/\r?\n/).entries()) {
    const line = whole.trim()
    if (line === '' || line.startsWith('#')) continue
    const colon = line.indexOf(':')
    // Some tools put comments behind a second colon.
    const check = colon > 0 ? passwordCheck(line.slice(colon + 1).split(':')[0] as string) : undefined
    if (check === undefined) problems.push(`line ${i + 1} ${colon > 0 ? UNKNOWN : 'is not `user:hash`'}`)
    else if (users.has(line.slice(0, colon))) problems.push(`line ${i + 1} names a user that is there already`)
    else users.set(line.slice(0, colon), check)
  }
  return { users, problems }
}

const UNKNOWN = 'has a password in no supported form: use `htpasswd -B` (bcrypt), or MD5, SHA-1 or crypt'

function passwordCheck(stored: string): PasswordCheck | undefined {
  if (/^\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}$/.test(stored)) return checkBcrypt(stored)
  const md5 = /^(\$apr1\$|\$1\$)([./A-Za-z0-9]{0,8})\$([./A-Za-z0-9]{22})$/.exec(stored)
  if (md5) return password => isSame(md5Crypt(password, md5[1] as string, md5[2] as string), md5[3] as string)
  if (/^\{SHA\}[A-Za-z0-9+/]{27}=$/.test(stored)) return password => isSame(sha1(password), stored.slice(5))
  if (/^[./A-Za-z0-9]{13}$/.test(stored)) return checkDesCrypt(stored)
  return undefined
}

/** Libraries load with the first password of their kind: validating a configuration needs none. */
function checkBcrypt(stored: string): PasswordCheck {
  const normal = stored.replace(/^\$2[xy]?\$/, '$2b$')
  return async password => {
    const { compare } = await import('bcryptjs')
    return compare(password, normal)
  }
}

function checkDesCrypt(stored: string): PasswordCheck {
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
/** Bytes of the digest in the order in which they are written, three to four characters. */
const ORDER = [
  [0, 6, 12],
  [1, 7, 13],
  [2, 8, 14],
  [3, 9, 15],
  [4, 10, 5],
] as const

/** Poul-Henning Kamp's MD5 crypt, of which `apr1` is the variant with another magic; the 22 characters after the salt. */
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
/** UTF-16 units; the work of a check grows with the password. */
const MAX_PASSWORD = 1024

/**
 * Checks user names and passwords. Hashes are slow on purpose, so pairs that were right are remembered, under a keyed
 * hash that is worth nothing outside of this process.
 */
export class PasswordVerifier {
  readonly #users: ReadonlyMap<string, PasswordCheck>
  readonly #pepper = randomBytes(32).toString('base64')
  readonly #remembered = new Set<string>()

  constructor(users: ReadonlyMap<string, PasswordCheck>) {
    this.#users = users
  }

  /** At once for pairs that were right before. */
  verify(user: string, password: string): boolean | Promise<boolean> {
    if (password.length > MAX_PASSWORD) return false
    const digest = hash('sha256', `${this.#pepper}${user.length}:${user}${password}`, 'base64')
    return this.#remembered.has(digest) || this.#check(user, password, digest)
  }

  async #check(user: string, password: string, digest: string): Promise<boolean> {
    const own = this.#users.get(user)
    // An unknown user takes as long as a known one.
    const check = own ?? this.#users.values().next().value
    const right = check !== undefined && (await check(password)) && own !== undefined
    if (right) this.#remember(digest)
    return right
  }

  #remember(digest: string): void {
    if (this.#remembered.size >= MAX_REMEMBERED) {
      const oldest = this.#remembered.values().next().value
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.add(digest)
  }
}
