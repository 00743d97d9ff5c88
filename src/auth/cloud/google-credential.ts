// Google credential files: https://google.aip.dev/auth/4110
import { membersOf } from './token-reply.ts'

export type GoogleCredential =
  | {
      readonly type: 'service_account'
      readonly email: string
      /** PEM. */
      readonly privateKey: string
      readonly keyId: string | undefined
      readonly tokenUrl: string
    }
  | {
      readonly type: 'authorized_user'
      readonly clientId: string
      readonly clientSecret: string
      readonly refreshToken: string
      readonly tokenUrl: string
    }
  | ExternalAccount
  | {
      readonly type: 'impersonated_service_account'
      readonly source: GoogleCredential
      /** Ends with `:generateAccessToken`. */
      readonly url: string
      readonly delegates: readonly string[]
    }

/** Workload and workforce identity federation: exchanges an external token. */
export interface ExternalAccount {
  readonly type: 'external_account'
  readonly audience: string
  readonly subjectTokenType: string
  readonly tokenUrl: string
  readonly source: SubjectSource
  readonly impersonationUrl: string | undefined
  readonly client: { readonly id: string; readonly secret: string } | undefined
  readonly userProject: string | undefined
}

export interface SubjectSource {
  readonly file: string | undefined
  readonly url: string | undefined
  /** Name, value, name, value. */
  readonly fields: readonly string[]
  /** The member that contains the token; undefined if the text is the token itself. */
  readonly member: string | undefined
}

type Members = Readonly<Record<string, unknown>>

const TOKEN_URL = 'https://oauth2.googleapis.com/token'

/** Throws an error that names the problem without quoting the text. */
export function readGoogleCredential(text: string): GoogleCredential {
  return credentialOf(membersOf(text, 'the Google credential'))
}

function credentialOf(members: Members): GoogleCredential {
  switch (members.type) {
    case 'service_account':
      return {
        type: 'service_account',
        email: textAt(members, 'client_email'),
        privateKey: textAt(members, 'private_key'),
        keyId: optionalText(members, 'private_key_id'),
        tokenUrl: urlAt(members, 'token_uri') ?? TOKEN_URL,
      }
    case 'authorized_user':
      return {
        type: 'authorized_user',
        clientId: textAt(members, 'client_id'),
        clientSecret: textAt(members, 'client_secret'),
        refreshToken: textAt(members, 'refresh_token'),
        tokenUrl: urlAt(members, 'token_uri') ?? TOKEN_URL,
      }
    case 'external_account':
      return externalAccount(members)
    case 'impersonated_service_account':
      return {
        type: 'impersonated_service_account',
        source: credentialOf(objectAt(members, 'source_credentials')),
        url: requiredUrl(members, 'service_account_impersonation_url'),
        delegates: Array.isArray(members.delegates) ? members.delegates.filter(each => typeof each === 'string') : [],
      }
    case undefined:
      throw new Error('the Google credential has no `type`')
    default:
      throw new Error(
        'the Google credential is of an unknown type; known are service_account, authorized_user, external_account and impersonated_service_account',
      )
  }
}

function externalAccount(members: Members): ExternalAccount {
  const source = objectAt(members, 'credential_source')
  const format = source.format === undefined ? {} : objectAt(source, 'format')
  const file = optionalText(source, 'file')
  const url = urlAt(source, 'url')
  if (file === undefined && (url === undefined || source.environment_id !== undefined)) {
    throw new Error('the Google credential takes its subject token neither from a `file` nor from a `url`')
  }
  const headers = source.headers === undefined ? {} : objectAt(source, 'headers')
  const id = optionalText(members, 'client_id')
  return {
    type: 'external_account',
    audience: textAt(members, 'audience'),
    subjectTokenType: textAt(members, 'subject_token_type'),
    tokenUrl: requiredUrl(members, 'token_url'),
    source: {
      file,
      url,
      fields: Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), String(value)]),
      member: format.type === 'json' ? textAt(format, 'subject_token_field_name') : undefined,
    },
    impersonationUrl: urlAt(members, 'service_account_impersonation_url'),
    client: id === undefined ? undefined : { id, secret: optionalText(members, 'client_secret') ?? '' },
    userProject: optionalText(members, 'workforce_pool_user_project'),
  }
}

function objectAt(members: Members, name: string): Members {
  const value = members[name]
  if (typeof value !== 'object' || value === null) throw new Error(`the Google credential has no \`${name}\``)
  return value as Members
}

function textAt(members: Members, name: string): string {
  const value = optionalText(members, name)
  if (value === undefined) throw new Error(`the Google credential has no \`${name}\``)
  return value
}

function optionalText(members: Members, name: string): string | undefined {
  const value = members[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function requiredUrl(members: Members, name: string): string {
  const url = urlAt(members, name)
  if (url === undefined) throw new Error(`the Google credential has no \`${name}\``)
  return url
}

function urlAt(members: Members, name: string): string | undefined {
  const text = optionalText(members, name)
  if (text === undefined) return undefined
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new Error(`\`${name}\` of the Google credential is not a URL`)
  }
  return text
}
