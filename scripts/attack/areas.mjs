import { addresses } from './addresses.mjs'
import { bodies } from './bodies.mjs'
import { cost } from './cost.mjs'
import { expressions } from './expressions.mjs'
import { forgedTokens } from './forged-tokens.mjs'
import { http1 } from './http1.mjs'
import { http2 } from './http2.mjs'
import { repository } from './repository.mjs'
import { secrets } from './secrets.mjs'
import { services } from './services.mjs'
import { sessions } from './sessions.mjs'
import { signIn } from './sign-in.mjs'
import { targetSignIn } from './target-sign-in.mjs'
import { tokens } from './tokens.mjs'
import { travelling } from './travelling.mjs'

/** Every attack, by what it is aimed at. SECURITY.md's table is generated from this list. */
export const AREAS = [
  { title: 'HTTP/1', attacks: http1 },
  { title: 'HTTP/2', attacks: http2 },
  { title: 'Bodies', attacks: bodies },
  { title: 'Expressions', attacks: expressions },
  { title: 'Keys, tokens and passwords', attacks: [...tokens, ...forgedTokens] },
  { title: 'Services that decide', attacks: [...services, ...travelling] },
  { title: 'Sign-in', attacks: [...signIn, ...targetSignIn] },
  { title: 'MCP sessions', attacks: sessions },
  { title: 'Addresses', attacks: addresses },
  { title: 'Secrets', attacks: secrets },
  { title: 'Cost', attacks: cost },
  { title: 'Repositories and files', attacks: repository },
]
