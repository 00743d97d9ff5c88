import { issuerUrl } from '../../../policies/parts/issuers.ts'
import { tlsField } from '../../../policies/parts/key-sets.ts'
import { type Infer, list, type ObjectProblem, object, opt, req, string } from '../../../schema/builder.ts'
import { fileOrInline, url } from '../../../schema/scalars.ts'

/** How users sign in at one MCP target, each for their own calls. */
export const signInSchema = object(
  'sign-in',
  {
    redirectURI: req(
      url(),
      'Address of the sign-in pages, to which the authorization server redirects browsers: an exact path of this backend’s own.',
    ),
    issuer: opt(issuerUrl, 'The authorization server; the one that the target names when unset.'),
    clientId: opt(string({ min: 1 }), 'Client id; when unset, the gateway registers itself (RFC 7591).'),
    clientSecret: opt(fileOrInline({ secret: true }), 'Client secret; a public client when unset.'),
    scopes: opt(
      list(string({ min: 1 }), { min: 1, max: 64 }),
      'Scopes to request; those that the target asks for when unset.',
    ),
    backendTLS: tlsField,
  },
  { check: checkSignIn },
)
export type SignInSpec = Infer<typeof signInSchema>

function checkSignIn({ redirectURI: uri, clientId, clientSecret }: Record<string, unknown>): ObjectProblem[] {
  const problems: ObjectProblem[] = []
  if (clientSecret !== undefined && clientId === undefined)
    problems.push({ path: ['clientSecret'], at: 'key', message: '`clientSecret` needs `clientId`' })
  if (uri instanceof URL && (uri.search !== '' || uri.hash !== '' || uri.username !== '' || uri.pathname === '/')) {
    problems.push({
      path: ['redirectURI'],
      at: 'value',
      message: 'the pages need a path of their own, without query, fragment and user',
      help: 'write `https://gateway.example.com/mcp/sign-in`',
    })
  }
  return problems
}
