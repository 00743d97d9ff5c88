// Lets requests with a valid JSON Web Token pass and shows its claims as `jwt` (specification, Inbound: JWT).
import { createCredentialReader } from '../auth/credential.ts'
import { type Claims, type JwtProvider, JwtVerifier } from '../auth/jwt.ts'
import { jwks, openKeySource, withKeys } from '../auth/key-source.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { def, type Infer, list, object, oneOf, opt, req } from '../schema/builder.ts'
import { longString, shortString } from '../schema/scalars.ts'
import { readLocation } from './parts/credential-location.ts'
import { bodiesFor } from './parts/request-body.ts'
import { type CompileContext, definePolicy } from './policy.ts'

const options = object('jwtValidationOptions', {
  requiredClaims: def(
    list(shortString),
    ['exp'],
    'Claims that a token must have; an `exp` that is there always counts.',
  ),
})
const audiences = list(longString, { min: 1, max: 64 })
const provider = object('JWT provider', {
  issuer: req(shortString, 'The `iss` of its tokens.'),
  audiences: opt(audiences, 'Accepted `aud`, any of them; unset: any audience.'),
  jwks: req(jwks, 'Its keys.'),
  jwtValidationOptions: opt(options, 'What tokens must contain.'),
})

const schema = object(
  'jwtAuth',
  {
    mode: def(
      oneOf(['strict', 'optional', 'permissive'], {
        Strict: 'strict',
        Optional: 'optional',
        Permissive: 'permissive',
      }),
      'strict',
      '`strict`: a valid token is needed. `optional`: requests without one pass. `permissive`: all requests pass.',
      { spec: 'Inbound: JWT' },
    ),
    location: opt(readLocation, 'Where the token is; unset: `Authorization: Bearer`.', {
      aliases: ['authorizationLocation'],
    }),
    issuer: opt(shortString, 'The `iss` of the tokens.'),
    audiences: opt(audiences, 'Accepted `aud`, any of them; unset: any audience.'),
    jwks: opt(jwks, 'The keys of the issuer.'),
    jwtValidationOptions: opt(options, 'What tokens must contain.'),
    providers: opt(list(provider, { min: 1, max: 64 }), 'Several issuers.'),
  },
  {
    exactlyOneOf: [['issuer', 'providers']],
    atMostOneOf: [
      ['jwks', 'providers'],
      ['audiences', 'providers'],
      ['jwtValidationOptions', 'providers'],
    ],
    check: value =>
      value.issuer !== undefined && value.jwks === undefined
        ? [{ message: 'jwtAuth lacks the required field `jwks`', path: [], at: 'parent', label: '`jwks` is missing' }]
        : [],
  },
)
type Spec = Infer<typeof schema>
type ProviderSpec = Infer<typeof provider>

export const jwtAuth = definePolicy({
  name: 'jwtAuth',
  doc: 'Lets requests with a valid JSON Web Token pass; its claims are `jwt` in expressions.',
  spec: 'Inbound: JWT',
  attach: ['listener', 'route'],
  schema,
  compile(spec, ctx) {
    const { mode } = spec
    if (spec.location) ctx.hides(spec.location)
    const credential = createCredentialReader(spec.location ?? { header: { name: 'authorization', prefix: 'Bearer ' } })
    const providers = providersOf(spec, ctx)
    const { clock, standIns } = ctx.runtime
    const read = standIns ? (x: Exchange) => credential.read(x) ?? standIns.tokenOf(x, providers) : credential.read
    const verifier = new JwtVerifier(providers, clock)
    function authenticate(x: Exchange): undefined | Promise<undefined> {
      const token = read(x)
      if (token === undefined) {
        if (mode === 'strict') throw new GatewayError('jwt', { detail: 'no bearer token found' })
        return undefined
      }
      const known = verifier.known(token)
      return known === undefined ? verify(x, token) : accept(x, token, known)
    }
    async function verify(x: Exchange, token: string): Promise<undefined> {
      try {
        accept(x, token, await verifier.verify(token))
      } catch (error) {
        if (mode !== 'permissive' || !(error instanceof GatewayError)) throw error
      }
    }
    function accept(x: Exchange, token: string, claims: Claims): undefined {
      x.auth.jwt = claims
      x.auth.rawToken = token
      credential.strip(x)
    }
    return { request: authenticate, ...bodiesFor([spec.location?.expression], ctx.limits) }
  },
})

function providersOf(spec: Spec, ctx: CompileContext): JwtProvider[] {
  if (spec.providers) return spec.providers.map((each, i) => openProvider(each, ['providers', i], ctx))
  return [openProvider(spec as ProviderSpec, [], ctx)]
}

function openProvider(spec: ProviderSpec, path: Path, ctx: CompileContext): JwtProvider {
  const { standIns } = ctx.runtime
  const keys = openKeySource(spec.jwks, [...path, 'jwks'], ctx)
  return {
    issuer: spec.issuer,
    audiences: spec.audiences,
    requiredClaims: spec.jwtValidationOptions?.requiredClaims ?? ['exp'],
    keys: standIns ? withKeys(keys, standIns.jwksFor(spec.issuer)) : keys,
  }
}
