import { list, object, opt, string } from '../../schema/builder.ts'
import { dnsLabel } from '../../schema/resource-scalars.ts'
import { defineKind, foreignStatus } from './resource.ts'

export const namespace = defineKind(
  {
    kind: 'Namespace',
    group: '',
    versions: ['v1'],
    namespaced: false,
  },
  {
    spec: opt(
      object('Namespace', { finalizers: opt(list(string()), 'What must happen before it is deleted.') }),
      'Its settings.',
    ),
    status: foreignStatus,
  },
  { name: dnsLabel },
)
