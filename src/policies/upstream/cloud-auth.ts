// Cloud credentials: signatures and tokens, added to each request last.
import { awsSignerFor } from '../../auth/cloud/aws-signer.ts'
import { azureSigner } from '../../auth/cloud/azure-signer.ts'
import type { AzureIdentity } from '../../auth/cloud/azure-tokens.ts'
import { copilotSigner } from '../../auth/cloud/copilot-signer.ts'
import { readGoogleCredential } from '../../auth/cloud/google-credential.ts'
import { googleSigner } from '../../auth/cloud/google-signer.ts'
import type { Expression } from '../../cel/expression.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Target } from '../../http/transport.ts'
import type { Infer } from '../../schema/builder.ts'
import type { CompileContext } from '../policy.ts'
import type { backendAuthDeclaration } from './policy-target.ts'

type Spec = Infer<typeof backendAuthDeclaration.schema>
type Members = Exclude<Spec, string>

/** Undefined if it is not a cloud credential. */
export function cloudSigner(spec: Spec, ctx: CompileContext): Target['sign'] | undefined {
  if (typeof spec === 'string') return copilotSigner(ctx)
  if (spec.aws !== undefined) return awsSigner(spec.aws, ctx)
  if (spec.gcp !== undefined) return gcpSigner(spec.gcp, ctx)
  return spec.azure && azureSigner({ identity: identityOf(spec.azure) }, ctx)
}

function awsSigner(spec: NonNullable<Members['aws']> | null, ctx: CompileContext) {
  const { accessKeyId, secretAccessKey, sessionToken, region, serviceName, assumeRole } = spec ?? {}
  const role = assumeRole && roleOf(assumeRole)
  return awsSignerFor(
    {
      ...(accessKeyId === undefined || secretAccessKey === undefined
        ? {}
        : { keys: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }),
      ...(region === undefined ? {} : { region }),
      ...(serviceName === undefined ? {} : { service: serviceName }),
      ...(role === undefined ? {} : { assumeRole: role }),
    },
    ctx,
  )
}

type Role = NonNullable<NonNullable<Members['aws']>['assumeRole']>

function roleOf({ roleArn, sessionName = 'gwctl', tags = [] }: Role) {
  const name = roleText(typeof sessionName === 'string' ? sessionName : sessionName.expression, SESSION_NAME, 'name')
  const values = tags.map(({ key, value, expression }) => ({
    key,
    text: roleText(value ?? (expression as Expression), TAG_VALUE, `tag \`${key}\``),
  }))
  const said = (x: Exchange | undefined) => ({
    sessionName: name(x),
    tags: values.map(({ key, text }) => ({ key, value: text(x) })),
  })
  const varies = typeof sessionName !== 'string' || tags.some(({ expression }) => expression)
  if (varies) return { roleArn, session: said }
  const session = said(undefined)
  return { roleArn, session: () => session }
}

// STS syntax: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
const SESSION_NAME = /^[\w+=,.@-]{2,64}$/
const TAG_VALUE = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u

/** Text that STS would reject is not sanitized, which could yield another principal's name. */
function roleText(written: string | Expression, form: RegExp, what: string): (x: Exchange | undefined) => string {
  if (typeof written === 'string') return () => written
  return x => {
    const outcome = x && written.decide(x)
    if (outcome?.ok && typeof outcome.value === 'string' && form.test(outcome.value)) return outcome.value
    const reason = outcome?.ok ? 'is not one that AWS takes' : 'cannot be computed'
    throw new GatewayError('backendAuth', { detail: `the ${what} of the AWS session ${reason}` })
  }
}

/** The expressions that identify the role's session. */
export function cloudExpressions(spec: Members): readonly (Expression | undefined)[] {
  const { sessionName, tags = [] } = spec.aws?.assumeRole ?? {}
  const name = typeof sessionName === 'object' ? sessionName.expression : undefined
  return [name, ...tags.map(({ expression }) => expression)]
}

type Gcp = NonNullable<Members['gcp']>

function gcpSigner(spec: Gcp | null, ctx: CompileContext) {
  const { type = 'accessToken', audience, credential } = spec ?? {}
  const text = credential && credentialText(credential, ctx)
  return googleSigner(
    { type, ...(audience === undefined ? {} : { audience }), ...(text === undefined ? {} : { credential: text }) },
    ctx,
  )
}

function credentialText(credential: NonNullable<Gcp['credential']>, ctx: CompileContext): string {
  if ('inline' in credential) {
    // Other text is a placeholder for a missing secret.
    if (/^\s*\{/.test(credential.inline)) checkCredential(credential.inline, 'GW106', [], ctx)
    return credential.inline
  }
  const text = ctx.readFile(credential.file, ['gcp', 'credential', 'file'])?.toString('utf8')
  if (text !== undefined) checkCredential(text, 'GW207', ['file'], ctx)
  // Empty rather than absent: no other identity may be used instead of the configured one.
  return text ?? ''
}

function checkCredential(text: string, code: 'GW106' | 'GW207', at: Path, ctx: CompileContext): void {
  try {
    readGoogleCredential(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : 'the Google credential cannot be read'
    ctx.report({ code, path: ['gcp', 'credential', ...at], at: 'value', message })
  }
}

function identityOf({ explicitConfig, developerImplicit, implicit }: NonNullable<Members['azure']>): AzureIdentity {
  if (explicitConfig === undefined || implicit) return { kind: developerImplicit ? 'developer' : 'implicit' }
  const { clientSecret, managedIdentity, workloadIdentity } = explicitConfig
  if (clientSecret) {
    const { tenant_id: tenant, client_id: client, client_secret: secret } = clientSecret
    return { kind: 'clientSecret', tenant, client, secret }
  }
  if (managedIdentity === undefined || workloadIdentity) return { kind: 'workloadIdentity' }
  const { clientId, objectId, resourceId } = managedIdentity.userAssignedIdentity ?? {}
  return {
    kind: 'managedIdentity',
    user: {
      ...(clientId === undefined ? {} : { clientId }),
      ...(objectId === undefined ? {} : { objectId }),
      ...(resourceId === undefined ? {} : { resourceId }),
    },
  }
}
