import { list, object, opt, req } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { dnsLabel, groupName, kindName, refName } from '../../schema/resource-scalars.ts'
import { defineKind } from './resource.ts'

const spec = object('ReferenceGrant', {
  from: req(
    list(
      object('grant source', {
        group: req(groupName, 'The API group.'),
        kind: req(kindName, 'The kind.'),
        namespace: req(dnsLabel, 'The namespace.'),
      }),
      { min: 1, max: 16 },
    ),
    'Who may refer.',
  ),
  to: req(
    list(
      object('grant target', {
        group: req(groupName, 'The API group; empty for a Service or Secret.'),
        kind: req(kindName, 'The kind.'),
        name: opt(refName, 'One object; all of the kind when unset.'),
      }),
      { min: 1, max: 16 },
    ),
    'What may be referred to.',
  ),
})

export const referenceGrant = defineKind(
  {
    kind: 'ReferenceGrant',
    group: GATEWAY_GROUP,
    versions: ['v1', 'v1beta1', 'v1alpha2'],
    namespaced: true,
  },
  { spec: req(spec, 'Who may refer to what in this namespace.') },
)
