import {
  def,
  json,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  secret,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { labelKeyProblem, labelValue } from '../../../schema/resource-scalars.ts'
import { shortString } from '../../../schema/scalars.ts'
import { problem } from '../resource.ts'
import { AUTH_MODES, IDENTITY_PROVIDERS, keySetCache } from './mcp-sections.ts'
import { credentialSource, remoteKeySet, secretRef } from './object-references.ts'

const mode = def(oneOf(AUTH_MODES), 'Strict', 'What happens without a valid credential.')

const keySet = object(
  'key set',
  {
    remote: opt(remoteKeySet(keySetCache), 'Fetched from a server.'),
    inline: opt(string({ min: 2, max: 65536 }), 'A JSON Web Key Set.'),
  },
  { exactlyOneOf: [['remote', 'inline']] },
)
const issuer = object('JWT provider', {
  issuer: req(shortString, 'The `iss` claim.'),
  audiences: opt(list(shortString, { min: 1, max: 64 }), 'Accepted `aud` claims; any when unset.'),
  jwks: req(keySet, 'The keys that sign tokens.'),
})
const mcpMetadata = object('JWT settings for MCP', {
  resourceMetadata: opt(map(json), 'What the protected resource says about itself.'),
  provider: opt(oneOf(IDENTITY_PROVIDERS), 'The identity provider, if it needs help to follow the protocol.'),
  clientId: opt(string(), 'The client that registrations are answered with.'),
})
export const jwtAuthentication = object(
  'JWT authentication',
  {
    mode,
    providers: req(list(issuer, { min: 1, max: 64 }), 'Issuers whose tokens are accepted.'),
    location: opt(credentialSource, 'Where the token is read; `Authorization: Bearer` when unset.'),
    mcp: opt(mcpMetadata, 'Serves the OAuth metadata that MCP clients ask for.'),
  },
  {
    check: mcpNeedsOneIssuer,
    rules: [
      serverRule(
        "!has(self.mcp) || (self.providers.size() == 1 && self.mode == 'Strict')",
        'mcp goes only with exactly one provider and mode Strict',
      ),
    ],
  },
)

function mcpNeedsOneIssuer(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (!value.mcp) return []
  if ((value.providers as readonly unknown[]).length > 1) {
    return [problem(['mcp'], '`mcp` goes only with exactly one entry in `providers`')]
  }
  return value.mode === 'Strict' ? [] : [problem(['mcp'], '`mcp` goes only with `mode: Strict`')]
}

export const basicAuthentication = object(
  'basic authentication',
  {
    mode: def(oneOf(['Strict', 'Optional']), 'Strict', 'What happens without a valid credential.'),
    realm: def(string(), 'Restricted', 'What the challenge names.'),
    users: opt(list(secret(), { min: 1, max: 256 }), 'Lines in htpasswd format.'),
    secretRef: opt(secretRef({ key: '.htaccess' }), 'A Secret with lines in htpasswd format.'),
    location: opt(credentialSource, 'Where the credential is read; `Authorization: Basic` when unset.'),
  },
  { exactlyOneOf: [['users', 'secretRef']] },
)

const dataSelector = (kind: string) =>
  object(
    'label selector',
    { matchLabels: req(map(labelValue, { keys: labelKeyProblem }), 'Labels that they must have.') },
    { refers: { to: 'selector', kind } },
  )
export const apiKeyAuthentication = object(
  'API key authentication',
  {
    mode,
    secretRef: opt(secretRef(), 'A Secret of which each entry is a key.'),
    secretSelector: opt(dataSelector('Secret'), 'Secrets of which each entry is a key.'),
    configMapSelector: opt(dataSelector('ConfigMap'), 'ConfigMaps of which each entry holds the hash of a key.'),
    location: opt(credentialSource, 'Where the key is read; `Authorization: Bearer` when unset.'),
  },
  { exactlyOneOf: [['secretRef', 'secretSelector', 'configMapSelector']] },
)
