// Adds the backend's credential to each call (specification, "Outbound (backend) authentication").

import type { CredentialPlace } from '../../auth/credential-places.ts'
import type { Expression } from '../../cel/expression.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Infer } from '../../schema/builder.ts'
import { opt } from '../../schema/builder.ts'
import type { FileOrInline } from '../../schema/scalars.ts'
import { bodiesFor } from '../parts/request-body.ts'
import { secretFile, secretText } from '../parts/secret-text.ts'
import { type CompileContext, definePolicy, type Hooks } from '../policy.ts'
import { cloudExpressions, cloudSigner } from './cloud-auth.ts'
import { backendAuth as inCluster } from './cluster/backend-auth.ts'
import { convertAuth } from './cluster/convert-auth.ts'
import { BEARER, credentialWriter, type WrittenLocation } from './credential-writer.ts'
import { backendAuthDeclaration } from './policy-target.ts'
import { signedToken } from './signed-token.ts'
import { crossAppToken, exchangedToken, type TokenStep } from './token-exchange.ts'

type Spec = Infer<typeof backendAuthDeclaration.schema>

export const backendAuth = definePolicy({
  ...backendAuthDeclaration,
  cluster: [
    {
      section: 'backend',
      on: 'target',
      member: 'auth',
      field: opt(inCluster, 'How the gateway authenticates.'),
      convert: convertAuth,
    },
  ],
  attach: ['route', 'backend', 'target'],
  perBackend: true,
  compile(spec, ctx): Hooks {
    const sign = cloudSigner(spec, ctx)
    const steps = typeof spec === 'string' ? [] : stepsOf(spec, ctx)
    const token = typeof spec === 'string' ? undefined : tokenStep(spec, ctx)
    // Set even if undefined: the credential of a wider place must not apply as well.
    const bodies = bodiesFor(expressionsOf(spec), ctx.limits)
    if (steps.length === 0 && token === undefined) return { upstream: { sign }, ...bodies }
    return {
      upstream: { sign, authenticated: true },
      attempt(x) {
        // Reads the client's credential before it is overwritten.
        const waiting = token?.(x)
        for (const step of steps) step(x)
        return waiting
      },
      ...bodies,
    }
  },
})

function stepsOf(spec: Exclude<Spec, string>, ctx: CompileContext): ((x: Exchange) => void)[] {
  for (const place of placesOf(spec)) ctx.hides(place)
  const steps: ((x: Exchange) => void)[] = []
  if (spec.key !== undefined) steps.push(fixed(keyText(spec.key, ctx), keyLocation(spec.key)))
  if (spec.passthrough !== undefined) steps.push(clientToken(spec.passthrough?.location ?? BEARER))
  if (spec.jwtSign !== undefined) {
    const pem = secretText(spec.jwtSign.signingKey, ctx, ['jwtSign', 'signingKey'])
    const token = signedToken(spec.jwtSign, pem, ctx)
    const write = credentialWriter(spec.jwtSign.location ?? BEARER)
    if (token) steps.push(x => write(x, token(x)))
  }
  for (const [i, { key, location }] of (spec.credentials ?? []).entries()) {
    steps.push(fixed(secretText(key, ctx, ['credentials', i, 'key']), location))
  }
  return steps
}

function tokenStep(spec: Exclude<Spec, string>, ctx: CompileContext): TokenStep | undefined {
  if (spec.oauthTokenExchange) return exchangedToken(spec.oauthTokenExchange, ctx)
  return spec.crossAppAccess && crossAppToken(spec.crossAppAccess, ctx)
}

function expressionsOf(spec: Spec): (Expression | undefined)[] {
  if (typeof spec === 'string') return []
  const { oauthTokenExchange: exchange, crossAppAccess: access, jwtSign } = spec
  return [
    ...cloudExpressions(spec),
    ...Object.values(jwtSign?.claims ?? {}),
    ...Object.values(exchange?.additionalParams ?? {}),
    ...[exchange?.subjectToken, exchange?.actorToken, access?.subjectToken].map(token => token?.source?.expression),
  ]
}

function placesOf({ key, passthrough, jwtSign, credentials = [] }: Exclude<Spec, string>): CredentialPlace[] {
  const own = key === undefined ? [] : [keyLocation(key)]
  const clients = passthrough?.location ? [passthrough.location] : []
  const signed = jwtSign === undefined ? [] : [jwtSign.location ?? BEARER]
  return [...own, ...clients, ...signed, ...credentials.map(({ location }) => location)]
}

type Key = string | { readonly value?: FileOrInline; readonly file?: string; readonly location?: WrittenLocation }

function keyText(key: Key, ctx: CompileContext): string | undefined {
  if (typeof key === 'string') return key
  return key.value === undefined
    ? secretFile(key.file!, ctx, ['key', 'file'])
    : secretText(key.value, ctx, ['key', 'value'])
}

function keyLocation(key: Key): WrittenLocation {
  return (typeof key === 'string' ? undefined : key.location) ?? BEARER
}

function fixed(credential: string | undefined, location: WrittenLocation): (x: Exchange) => void {
  const write = credentialWriter(location)
  return x => {
    if (credential !== undefined) write(x, credential)
  }
}

function clientToken(location: WrittenLocation): (x: Exchange) => void {
  const write = credentialWriter(location)
  return x => {
    if (x.auth.rawToken !== undefined) write(x, x.auth.rawToken)
  }
}
