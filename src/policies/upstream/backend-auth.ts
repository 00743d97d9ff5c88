// Puts the backend's credential on each call (specification, "Outbound (backend) authentication").

import type { CredentialPlace } from '../../auth/credential-places.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Infer } from '../../schema/builder.ts'
import { opt } from '../../schema/builder.ts'
import type { FileOrInline } from '../../schema/scalars.ts'
import type { writeLocation } from '../parts/credential-location.ts'
import { secretFile, secretText } from '../parts/secret-text.ts'
import { type CompileContext, definePolicy, type Hooks } from '../policy.ts'
import { cloudSigner } from './cloud-auth.ts'
import { backendAuth as inCluster } from './cluster/backend-auth.ts'
import { convertAuth } from './cluster/convert-auth.ts'
import { backendAuthDeclaration } from './policy-target.ts'
import { signedToken } from './signed-token.ts'

type Location = Infer<typeof writeLocation>
type Spec = Infer<typeof backendAuthDeclaration.schema>
type Write = (x: Exchange, credential: string) => void

const BEARER: Location = { header: { name: 'authorization', prefix: 'Bearer ' } }

export const backendAuth = definePolicy({
  ...backendAuthDeclaration,
  cluster: [
    {
      section: 'backend',
      on: 'target',
      member: 'auth',
      field: opt(inCluster, 'How the gateway proves who it is.'),
      convert: convertAuth,
    },
  ],
  attach: ['route', 'backend', 'target'],
  perBackend: true,
  compile(spec, ctx): Hooks {
    const sign = cloudSigner(spec, ctx)
    const steps = typeof spec === 'string' ? [] : stepsOf(spec, ctx)
    return {
      // Also where there is none: a credential of a wider place is not put on top of this one.
      upstream: { sign, ...(steps.length === 0 ? {} : { authenticated: true }) },
      ...(steps.length === 0
        ? {}
        : {
            attempt(x) {
              for (const step of steps) step(x)
              return undefined
            },
          }),
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
    const write = writer(spec.jwtSign.location ?? BEARER)
    if (token) steps.push(x => write(x, token(x)))
  }
  for (const [i, { key, location }] of (spec.credentials ?? []).entries()) {
    steps.push(fixed(secretText(key, ctx, ['credentials', i, 'key']), location))
  }
  return steps
}

function placesOf({ key, passthrough, jwtSign, credentials = [] }: Exclude<Spec, string>): CredentialPlace[] {
  const own = key === undefined ? [] : [keyLocation(key)]
  const clients = passthrough?.location ? [passthrough.location] : []
  const signed = jwtSign === undefined ? [] : [jwtSign.location ?? BEARER]
  return [...own, ...clients, ...signed, ...credentials.map(({ location }) => location)]
}

type Key = string | { readonly value?: FileOrInline; readonly file?: string; readonly location?: Location }

function keyText(key: Key, ctx: CompileContext): string | undefined {
  if (typeof key === 'string') return key
  return key.value === undefined
    ? secretFile(key.file!, ctx, ['key', 'file'])
    : secretText(key.value, ctx, ['key', 'value'])
}

function keyLocation(key: Key): Location {
  return (typeof key === 'string' ? undefined : key.location) ?? BEARER
}

function fixed(credential: string | undefined, location: Location): (x: Exchange) => void {
  const write = writer(location)
  return x => {
    if (credential !== undefined) write(x, credential)
  }
}

function clientToken(location: Location): (x: Exchange) => void {
  const write = writer(location)
  return x => {
    if (x.auth.rawToken !== undefined) write(x, x.auth.rawToken)
  }
}

/** Writing twice leaves one credential: attempts are repeated. */
function writer(location: Location): Write {
  if (location.header) {
    const name = location.header.name.toLowerCase()
    const prefix = location.header.prefix ?? ''
    return (x, credential) => x.request.headers.set(name, prefix + credential)
  }
  if (location.queryParameter) {
    const { name } = location.queryParameter
    return (x, credential) => {
      x.request.path = withParameter(x.request.path, name, credential)
    }
  }
  const { name } = location.cookie!
  return (x, credential) => setCookie(x, name, credential)
}

function withParameter(path: string, name: string, value: string): string {
  const mark = path.indexOf('?')
  const encoded = encodeURIComponent(name)
  const kept =
    mark < 0
      ? []
      : path
          .slice(mark + 1)
          .split('&')
          .filter(pair => pair !== '' && !isNamed(pair, name, encoded))
  return `${mark < 0 ? path : path.slice(0, mark)}?${[...kept, `${encoded}=${encodeURIComponent(value)}`].join('&')}`
}

function isNamed(pair: string, name: string, encoded: string): boolean {
  const end = pair.indexOf('=')
  const found = end < 0 ? pair : pair.slice(0, end)
  return found === name || found === encoded
}

function setCookie(x: Exchange, name: string, value: string): void {
  const kept = x.request.headers
    .getAll('cookie')
    .flatMap(field => field.split(';'))
    .map(pair => pair.trim())
    .filter(pair => pair !== '' && pair.split('=', 1)[0]!.trim() !== name)
  x.request.headers.set('cookie', [...kept, `${name}=${value}`].join('; '))
}
