import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, ResponseHead } from '../../../http/exchange.ts'
import { applyChange, fieldChange, isChangeable } from '../../../http/field-change.ts'
import { toFieldValue } from '../../../http/field-value.ts'
import { HeaderList } from '../../../http/headers.ts'
import { APPEND_ACTION, type HeaderValueOption } from '../../../protobuf/envoy.ts'
import type { HeaderMutation, ImmediateResponse } from '../../../protobuf/ext-proc.ts'
import type { Limits } from '../../policy.ts'
import { setRequestPseudo } from '../pseudo-headers.ts'

/** Fields as protobuf messages: values are bytes, and repeated names stay separate. */
export function headersOf(pseudo: readonly (readonly [string, string])[], headers: HeaderList) {
  const out = pseudo.map(([key, value]) => ({ key, rawValue: Buffer.from(value, 'latin1') }))
  const { raw } = headers
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const key = (raw[i] as string).toLowerCase()
    if (isChangeable(key) || key === 'content-length')
      out.push({ key, rawValue: Buffer.from(raw[i + 1] as string, 'latin1') })
  }
  return { headers: out }
}

export function requestHeadersOf({ request }: Exchange) {
  const pseudo = [
    [':method', request.method],
    [':path', request.path],
    [':scheme', request.scheme],
    [':authority', request.authority],
  ] as const
  return headersOf(pseudo, request.headers)
}

export function changeRequest(mutation: HeaderMutation | undefined, x: Exchange, { paths }: Limits): void {
  changeFields(mutation, x.request.headers, (name, value) =>
    setRequestPseudo(name === 'host' ? ':authority' : name, paths)(x, value),
  )
}

export function changeResponse(mutation: HeaderMutation | undefined, response: ResponseHead): void {
  changeFields(mutation, response.headers, (name, value) => {
    const status = Number(value)
    if (name === ':status' && Number.isInteger(status) && status >= 200 && status <= 599) response.status = status
  })
}

/** The trailers after the service's changes: name, value, name, value. */
export function changedTrailers(mutation: HeaderMutation | undefined, trailers: readonly string[]): readonly string[] {
  const fields = new HeaderList([...trailers])
  changeFields(mutation, fields, () => {})
  return fields.raw
}

const ACTIONS = {
  [APPEND_ACTION.addIfAbsent]: 'addIfAbsent',
  [APPEND_ACTION.overwriteIfExists]: 'setIfPresent',
} as const

function changeFields(
  mutation: HeaderMutation | undefined,
  headers: HeaderList,
  pseudo: (name: string, value: string) => void,
): void {
  if (mutation === undefined) return
  for (const name of mutation.removeHeaders.map(each => each.toLowerCase())) {
    if (isChangeable(name)) headers.delete(name)
  }
  for (const { header, append, appendAction } of mutation.setHeaders) {
    const name = header?.key?.toLowerCase()
    if (header === undefined || name === undefined) continue
    if (name.startsWith(':') || name === 'host') {
      const value = toFieldValue(textOf(header))
      if (value !== undefined) pseudo(name, value)
      continue
    }
    const action = append?.value ? 'append' : (ACTIONS[appendAction as keyof typeof ACTIONS] ?? 'set')
    const change = fieldChange(name, textOf(header), action)
    if (change) applyChange(headers, change)
  }
}

function textOf({ value, rawValue }: NonNullable<HeaderValueOption['header']>): string {
  if (rawValue === undefined || rawValue.length === 0) return value ?? ''
  return Buffer.from(rawValue).toString(isUtf8(rawValue) ? 'utf8' : 'latin1')
}

/** The response sent to the client instead of any other. */
export function immediate({ status, headers, body }: ImmediateResponse): GatewayError {
  const code = status?.code ?? 200
  const fields = (headers?.setHeaders ?? []).flatMap(({ header }) => {
    const change = header?.key === undefined ? undefined : fieldChange(header.key, textOf(header), 'append')
    return change?.value === undefined ? [] : [change.name, change.value]
  })
  return new GatewayError('extProc', {
    status: code >= 200 && code <= 599 ? code : 500,
    headers: fields,
    body: { type: '', text: Buffer.from(body ?? []).toString('utf8') },
    cause: 'an immediate response',
  })
}
