// Keeps a client with the backend and endpoint of its first request (GEP-1619): a cookie or header field says where.

import { hash } from 'node:crypto'
import type { Exchange } from '../http/exchange.ts'
import { PinnedSession, type Pins } from '../http/facts/pinned-session.ts'
import { def, type Infer, object, oneOf, opt, req, string } from '../schema/builder.ts'
import { plainHeaderName } from '../schema/resource-scalars.ts'
import { missing } from '../schema/rules.ts'
import { duration } from '../schema/scalars.ts'
import { asFields, type Fields } from '../schema/untyped.ts'
import { defined, type Policies } from './parts/cluster-form.ts'
import { cookiesOf } from './parts/oidc/cookies.ts'
import { definePolicy } from './policy.ts'

const cookie = object('session cookie', {
  name: req(plainHeaderName, 'Its name.'),
  path: def(
    string({ max: 1024, pattern: /^[^;\p{Cc}]*$/u, form: 'without `;`' }),
    '/',
    'The paths that it is sent with.',
  ),
  lifetime: def(
    oneOf(['session', 'permanent']),
    'session',
    'Until the browser closes, or for `absoluteTimeout` in any case.',
  ),
})
const schema = object(
  'session persistence',
  {
    cookie: opt(cookie, 'A cookie carries the session.'),
    header: opt(
      object('session header', { name: req(plainHeaderName, 'Its name.') }),
      'A header field carries the session: clients send what the response said.',
    ),
    absoluteTimeout: opt(duration, 'Maximum lifetime of a session.'),
    idleTimeout: opt(duration, 'How long a session lasts without a request.'),
  },
  {
    exactlyOneOf: [['cookie', 'header']],
    check: value =>
      (value.cookie as Fields | undefined)?.lifetime === 'permanent' && value.absoluteTimeout === undefined
        ? [missing('absoluteTimeout', 'a permanent cookie needs `absoluteTimeout`')]
        : [],
  },
)
type Spec = Infer<typeof schema>

export const sessionPersistence = definePolicy({
  name: 'sessionPersistence',
  doc: 'Keeps a client with the backend and endpoint of its first request.',
  attach: ['route'],
  schema,
  compile(spec, { runtime: { clock } }) {
    const { absoluteTimeout, cookie, header, idleTimeout } = spec
    const limits = {
      absolute: absoluteTimeout ?? Number.POSITIVE_INFINITY,
      idle: idleTimeout ?? Number.POSITIVE_INFINITY,
    }
    const carrier = header ? headerNamed(header.name.toLowerCase()) : cookieFor(cookie!, absoluteTimeout)
    const seconds = () => Math.floor(clock.now() / 1000)
    function resumeSession(x: Exchange): PinnedSession {
      x.session = resumed(carrier.read(x), seconds(), limits) ?? new Session(seconds())
      return x.session
    }
    function keepSession(x: Exchange): void {
      const kept = keptBy(x, seconds(), limits)
      if (kept) carrier.write(x, kept)
    }
    return { session: resumeSession, response: keepSession }
  },
})

/** Of a rule, in the form of Gateway API 1.7 and that of earlier releases. `rule` names it uniquely. */
export function convertSessionPersistence(part: Fields, rule: string): Policies {
  const { type, sessionName, cookieConfig, absoluteTimeout, idleTimeout } = part
  const timeouts = { absoluteTimeout, idleTimeout }
  if (type === 'Header') return defined({ header: { name: asFields(part.header)?.name ?? sessionName }, ...timeouts })
  const { name = sessionName, path, lifetimeType } = asFields(part.cookie) ?? asFields(cookieConfig) ?? {}
  const unique = `session-${hash('sha256', rule).slice(0, 12)}`
  const lifetime = lifetimeType === 'Permanent' ? 'permanent' : undefined
  return defined({
    cookie: defined({ name: name ?? unique, path: path === '/' ? undefined : path, lifetime }),
    ...timeouts,
  })
}

interface Carrier {
  read(x: Exchange): string | undefined
  write(x: Exchange, kept: Kept): void
}

function headerNamed(name: string): Carrier {
  return {
    read: x => x.request.headers.get(name),
    write: (x, { token }) => x.response?.headers.set(name, token),
  }
}

function cookieFor({ name, path, lifetime }: NonNullable<Spec['cookie']>, absoluteTimeout = 0): Carrier {
  return {
    read: x => cookiesOf(x.request.headers, name).get(name),
    write(x, { token, isNews, age }) {
      if (!isNews) return
      const lasts = lifetime === 'permanent' ? `; Max-Age=${Math.ceil(absoluteTimeout / 1000) - age}` : ''
      const secure = x.received.scheme === 'https' ? '; Secure' : ''
      x.response?.headers.append(
        'set-cookie',
        `${name}=${token}; Path=${path}${lasts}; HttpOnly; SameSite=Lax${secure}`,
      )
    },
  }
}

/** ms. */
interface Limits {
  readonly absolute: number
  readonly idle: number
}

interface Kept {
  readonly token: string
  /** The client does not have it yet. */
  readonly isNews: boolean
  /** Seconds since the session began. */
  readonly age: number
}

/** Seconds that clocks of replicas may differ. */
const SKEW = 60
/** Backend, endpoint, and the seconds when the session began and was last used. */
const TOKEN = /^([\w-]{12})\.([\w-]{12})?\.([\da-z]{1,8})\.([\da-z]{1,8})$/

/** Tokens are not secret and not signed: whoever makes one up chooses among the backends of the route, which is allowed. */
class Session extends PinnedSession {
  /** Seconds since the epoch. */
  readonly began: number
  /** As the client sent it. */
  readonly token: string | undefined

  constructor(began: number, token?: string, pins?: Pins) {
    super(pins)
    this.began = began
    this.token = token
  }
}

/** The session of a token, unless it is over. */
function resumed(token = '', now: number, { absolute, idle }: Limits): Session | undefined {
  const [, backend, endpoint, ...times] = TOKEN.exec(token) ?? []
  if (backend === undefined) return undefined
  const [began = 0, used = 0] = times.map(text => Number.parseInt(text, 36))
  const isOver = (now - began) * 1000 >= absolute || (now - used) * 1000 >= idle
  if (isOver || began > now + SKEW || used > now + SKEW) return undefined
  return new Session(began, token, { backend, endpoint })
}

/** What the client is told, once its request has reached a backend. */
function keptBy({ attempts, session }: Exchange, now: number, { idle }: Limits): Kept | undefined {
  if (!(session instanceof Session) || session.pins === undefined || attempts.length === 0) return undefined
  const { backend, endpoint = '' } = session.pins
  const used = idle < Number.POSITIVE_INFINITY ? now : session.began
  const token = `${backend}.${endpoint}.${session.began.toString(36)}.${used.toString(36)}`
  return { token, isNews: token !== session.token, age: now - session.began }
}
