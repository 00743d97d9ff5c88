import { type KeySource, openKeySource } from '../../auth/key-source.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import type { TlsOptions } from '../../http/transport.ts'
import { def, type Infer, object, opt, parsed, shapes, string } from '../../schema/builder.ts'
import { duration, url } from '../../schema/scalars.ts'
import type { CompileContext } from '../policy.ts'
import { backendTLS, tlsOptions } from '../upstream/backend-tls.ts'

/** For a key set configured by URL. */
export const tlsField = opt(
  backendTLS.schema,
  'TLS settings for the server; verified against the system’s trust store when unset.',
)

const reference = object(
  'key set',
  {
    file: opt(string({ min: 1 }), 'Path of a JSON Web Key Set, relative to the configuration file.'),
    url: opt(url(), 'Address of a JSON Web Key Set.'),
    backendTLS: tlsField,
    cacheDuration: def(duration, '5m', 'How long a key set from `url` is used before it is fetched again.'),
  },
  { exactlyOneOf: [['file', 'url']] },
)

/** The source of the keys; `cacheDuration` in ms. */
export type JwksSource =
  | { readonly inline: string }
  | { readonly file: string }
  | {
      readonly url: URL
      readonly cacheDuration: number
      readonly backendTLS: Infer<typeof reference>['backendTLS'] | undefined
    }

/** A key set: inline, or `file` or `url` (specification, Inbound: JWT). */
export const jwks = parsed(
  shapes({ string: string({ min: 2, max: 65_536 }), object: reference }),
  'a JSON Web Key Set, or `file` or `url` of one',
  (value): { readonly value: JwksSource } => {
    if (typeof value === 'string') return { value: { inline: value } }
    const { file, url, cacheDuration, backendTLS: tls } = value
    return { value: file === undefined ? { url: url as URL, cacheDuration, backendTLS: tls } : { file } }
  },
  { inline: '{"keys":[]}' },
)

/** `path`: of `source` in the spec; `tls`: of the provider that owns the keys. */
export function openKeys(source: JwksSource, path: Path, ctx: CompileContext, tls?: TlsOptions): KeySource {
  if (!('url' in source)) return openKeySource(source, path, ctx)
  const own = optionalTls(source.backendTLS, [...path, 'backendTLS'], ctx)
  return openKeySource({ ...source, tls: own ?? tls }, path, ctx)
}

export function optionalTls(
  spec: Infer<typeof backendTLS.schema> | undefined,
  path: Path,
  ctx: CompileContext,
): TlsOptions | undefined {
  return spec && tlsOptions(spec, path, ctx)
}
