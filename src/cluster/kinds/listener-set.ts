import { def, list, object, opt, req } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { dnsLabel, groupName, kindName, refName } from '../../schema/resource-scalars.ts'
import { listener, listenerRules } from './parts/listener.ts'
import { defineKind, foreignStatus } from './resource.ts'

const parent = object(
  'parent reference',
  {
    group: def(groupName, GATEWAY_GROUP, 'The API group.'),
    kind: def(kindName, 'Gateway', 'The kind.'),
    name: req(refName, 'The name.'),
    namespace: opt(dnsLabel, 'The namespace, if another.'),
  },
  { refers: { to: 'parent', kind: 'Gateway' } },
)
const spec = object(
  'ListenerSet',
  {
    parentRef: req(parent, 'The Gateway that gets the listeners.'),
    listeners: req(list(listener, { min: 1, max: 64, unique: ['name'] }), 'Where connections are accepted.'),
  },
  { check: listenerRules },
)

export const listenerSet = defineKind(
  {
    kind: 'ListenerSet',
    group: GATEWAY_GROUP,
    versions: ['v1'],
    namespaced: true,
  },
  { spec: req(spec, 'Where connections are accepted.'), status: foreignStatus },
)
