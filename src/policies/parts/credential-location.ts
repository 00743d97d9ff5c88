import { cel, object, opt, req, string } from '../../schema/builder.ts'
import { headerName } from '../../schema/scalars.ts'
import { asFields, asText } from '../../schema/untyped.ts'
import { copied, defined, type Policies } from './cluster-form.ts'

const inHeader = object('header location', {
  name: req(headerName, 'Header name.'),
  prefix: opt(string({ max: 256 }), 'Text before the credential, such as `Bearer `.'),
})
const inQuery = object('query parameter location', { name: req(string({ min: 1, max: 256 }), 'Parameter name.') })
const inCookie = object('cookie location', { name: req(string({ min: 1, max: 256 }), 'Cookie name.') })

const places = {
  header: opt(inHeader, 'A header field.'),
  queryParameter: opt(inQuery, 'A query parameter.'),
  cookie: opt(inCookie, 'A cookie.'),
}
const WRITTEN = ['header', 'queryParameter', 'cookie']

/** Where to write a credential. */
export const writeLocation = object('credential location', places, { exactlyOneOf: [WRITTEN] })

/** Where to read a credential. */
export const readLocation = object(
  'credential location',
  {
    ...places,
    expression: opt(
      cel('request', 'string'),
      'An expression whose result is the credential; it is not removed from the request.',
    ),
  },
  { exactlyOneOf: [[...WRITTEN, 'expression']] },
)

/** A location as written in resources. */
export function convertLocation(part: unknown): Policies | undefined {
  const place = asFields(part)
  return (
    place &&
    defined({
      header: copied(place.header),
      queryParameter: copied(place.queryParameter),
      cookie: copied(place.cookie),
      expression: asText(place.expression),
    })
  )
}
