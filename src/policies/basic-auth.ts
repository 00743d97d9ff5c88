// Admits requests with a valid user name and password (specification, Inbound: HTTP basic).

import { createCredentialReader } from '../auth/credential.ts'
import { FailedAttempts } from '../auth/failed-attempts.ts'
import { PasswordVerifier, parsePasswordFile } from '../auth/htpasswd.ts'
import { PasswordThreads } from '../auth/password-threads.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { def, type Infer, list, object, oneOf, opt, req, secret, string } from '../schema/builder.ts'
import { credentialSource, secretRef } from '../schema/resource-references.ts'
import { fileOrInline } from '../schema/scalars.ts'
import { asFields, type Fields } from '../schema/untyped.ts'
import { type ClusterContext, defined, lower, type Policies, strings } from './parts/cluster-form.ts'
import { convertLocation, readLocation } from './parts/credential-location.ts'
import { bodiesFor } from './parts/request-body.ts'
import { type CompileContext, definePolicy } from './policy.ts'

const schema = object('basicAuth', {
  htpasswd: req(fileOrInline({ secret: true }), 'Lines `user:hash`, or the file with them.'),
  realm: opt(
    string({ min: 1, max: 256, pattern: /^[\t\x20-\x7e]*$/, form: 'printable ASCII text' }),
    'Realm of the challenge; unset: `Restricted`.',
  ),
  mode: def(
    oneOf(['strict', 'optional'], { Strict: 'strict', Optional: 'optional' }),
    'strict',
    '`strict`: valid credentials are required. `optional`: requests without any pass.',
    { spec: 'Inbound: HTTP basic' },
  ),
  authorizationLocation: opt(readLocation, 'Where to read the credentials; unset: `Authorization: Basic`.', {
    aliases: ['location'],
  }),
})
type Spec = Infer<typeof schema>

const inCluster = object(
  'basic authentication',
  {
    mode: def(oneOf(['Strict', 'Optional']), 'Strict', 'What happens without a valid credential.'),
    realm: def(string(), 'Restricted', 'Realm of the challenge.'),
    users: opt(list(secret(), { min: 1, max: 256 }), 'Lines in htpasswd format.'),
    secretRef: opt(secretRef({ key: '.htaccess' }), 'A Secret with lines in htpasswd format.'),
    location: opt(credentialSource, 'Where to read the credential; `Authorization: Basic` when unset.'),
  },
  { exactlyOneOf: [['users', 'secretRef']] },
)

export const basicAuth = definePolicy({
  name: 'basicAuth',
  doc: 'Lets requests with a valid user name and password pass; the name is `basicAuth.username` in expressions.',
  spec: 'Inbound: HTTP basic',
  attach: ['listener', 'route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'basicAuthentication',
      field: opt(inCluster, 'Verifies user names and passwords.'),
      convert: convertBasic,
    },
  ],
  asksFor: 'password',
  guards: true,
  compile(spec, ctx) {
    const location = spec.authorizationLocation ?? { header: { name: 'authorization', prefix: 'Basic ' } }
    ctx.hides(location)
    const credential = createCredentialReader(location)
    const users = readUsers(spec, ctx)
    const verifier = new PasswordVerifier(users, helpOf(ctx))
    const refuse = compileRefusal(location.header?.name, spec.realm ?? 'Restricted')
    function authenticate(x: Exchange): undefined | Promise<undefined> {
      const sent = credential.read(x)
      if (sent === undefined) {
        if (spec.mode === 'strict') refuse('no basic authentication credentials found')
        return undefined
      }
      const pair = decodePair(sent)
      if (pair === undefined) return refuse('invalid credentials')
      const right = verifier.verify(pair.user, pair.password, x.connection.address)
      return right === true ? accept(x, pair.user) : settle(right, x, pair.user)
    }
    async function settle(right: boolean | Promise<boolean>, x: Exchange, user: string): Promise<undefined> {
      return (await right) ? accept(x, user) : refuse('invalid credentials')
    }
    function accept(x: Exchange, username: string): undefined {
      x.auth.basic = { username }
      const check = users.get(username)
      if (check) x.auth.passwordHash = check.stored
      credential.strip(x)
    }
    return { request: authenticate, ...bodiesFor([location.expression], ctx.limits) }
  },
})

/** All policies share one set of threads; counts of failed attempts outlive a reload. */
function helpOf({ runtime, state }: CompileContext) {
  const { clock, passwordThread } = runtime
  const threads = passwordThread && runtime.state.get('password threads', () => new PasswordThreads(passwordThread))
  return { threads, attempts: state('attempts', () => new FailedAttempts(clock)) }
}

function readUsers({ htpasswd }: Spec, ctx: CompileContext) {
  const inline = 'inline' in htpasswd
  const text = inline ? htpasswd.inline : (ctx.readFile(htpasswd.file, ['htpasswd', 'file'])?.toString('utf8') ?? '')
  const { users, problems } = parsePasswordFile(text)
  for (const problem of problems) {
    ctx.report({
      code: inline ? 'GW106' : 'GW207',
      message: `htpasswd: ${problem}`,
      path: inline ? ['htpasswd'] : ['htpasswd', 'file'],
      at: 'value',
    })
  }
  return users
}

/** Credentials in `Proxy-Authorization` are requested with 407 and a proxy challenge. */
function compileRefusal(header: string | undefined, realm: string): (detail: string) => never {
  const challenge = `Basic realm="${realm.replace(/["\\]/g, '\\$&')}"`
  const proxy = header?.toLowerCase() === 'proxy-authorization'
  const details = proxy
    ? { status: 407, headers: ['proxy-authenticate', challenge] }
    : { headers: ['www-authenticate', challenge] }
  return detail => {
    throw new GatewayError('basicAuth', { ...details, detail })
  }
}

function decodePair(sent: string): { readonly user: string; readonly password: string } | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(sent)) return undefined
  const text = Buffer.from(sent, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

function convertBasic(part: Fields, ctx: ClusterContext): Policies | undefined {
  const ref = asFields(part.secretRef)
  const users = strings(part.users)
  const { namespace, name } = ctx.holder
  const own = users && (ctx.withSecrets ? users.join('\n') : `<redacted: users of ${namespace}/${name}>`)
  const htpasswd = own ?? (ref && ctx.secrets.shown(ref, '.htaccess'))
  if (htpasswd === undefined) return undefined
  return defined({
    htpasswd,
    realm: part.realm ?? 'Restricted',
    mode: lower(part.mode ?? 'Strict'),
    authorizationLocation: convertLocation(part.location),
  })
}
