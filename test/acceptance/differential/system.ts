import type { Case } from './cases.ts'
import type { Reply } from './client.ts'
import type { Call } from './upstreams.ts'

/** Both systems have it: without a secret for its cookies, the public one signs nobody in. */
export const ENV: Readonly<Record<string, string>> = { OIDC_COOKIE_SECRET: '0123456789abcdef'.repeat(4) }

export interface Answer extends Reply {
  readonly upstream?: readonly Call[]
}

export interface Recording {
  readonly replies: Readonly<Record<string, Answer>>
  /** The fields of each request's record. */
  readonly log?: readonly Readonly<Record<string, string>>[]
  /** Series that count requests, and the names and labels of all others. */
  readonly metrics?: readonly string[]
}

/** A gateway under comparison. */
export interface System extends AsyncDisposable {
  /** The port that was opened for one of the file. */
  portOf(configured: number): number
  /** JSON records of the access log so far. */
  records(): readonly string[]
  /** OpenMetrics text. */
  metrics(): Promise<string>
}

/** The system does not take the configuration. */
export class Refused extends Error {}

export type Start = (config: Case['config'], files: Readonly<Record<string, string>>) => Promise<System>
