import { cel, def, list, type ObjectProblem, object, oneOf, opt, req, serverRule } from '../../../schema/builder.ts'
import { endpoint, hasPath } from '../../../schema/resource-references.ts'
import { absolutePath } from '../../../schema/resource-scalars.ts'
import { problem } from '../../../schema/rules.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'

// Shared by logs and traces in resources.

export const attribute = object('attribute', {
  name: req(shortString, 'The name.'),
  expression: req(cel('log', 'any'), 'Expression for the value; if it fails, the attribute is omitted.'),
})
export const attributes = object(
  'attributes',
  {
    remove: opt(list(tinyString, { min: 1, max: 32 }), 'Fields to leave out.'),
    add: opt(list(attribute, { min: 1, unique: ['name'] }), 'Fields to add.'),
  },
  { atLeastOneOf: [['remove', 'add']] },
)
export const collector = endpoint({ urlPath: true, what: 'The collector' })
export const exportFields = {
  ...collector.fields,
  protocol: def(oneOf(['GRPC', 'HTTP']), 'GRPC', 'Protocol of the collector.'),
  path: opt(absolutePath, 'The path to send to, over HTTP.'),
}
export function exportRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.protocol === 'HTTP') return []
  if (value.path !== undefined) return [problem(['path'], '`path` goes only with `protocol: HTTP`')]
  return hasPath(value.url)
    ? [problem(['url'], 'a URL with a path goes only with `protocol: HTTP`', { at: 'value' })]
    : []
}
export const EXPORT_RULES = [
  serverRule("self.protocol == 'HTTP' || !has(self.path)", 'path goes only with protocol HTTP'),
  serverRule(
    "self.protocol == 'HTTP' || !has(self.url) || !self.url.matches('^https?://[^/]+/')",
    'a url with a path goes only with protocol HTTP',
  ),
]
export const filter = opt(cel('log', 'bool'), 'Which requests are recorded.')
