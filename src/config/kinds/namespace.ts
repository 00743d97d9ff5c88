import { list, object, opt, string } from '../../schema/builder.ts'
import { dnsLabel } from '../../schema/resource-scalars.ts'
import { foreignStatus, type ResourceKind, resource } from './resource.ts'

export const namespace: ResourceKind = {
  kind: 'Namespace',
  group: '',
  versions: ['v1'],
  namespaced: false,
  schema: resource(
    'Namespace',
    {
      spec: opt(
        object('Namespace', { finalizers: opt(list(string()), 'What must happen before it is deleted.') }),
        'Its settings.',
      ),
      status: foreignStatus,
    },
    { name: dnsLabel },
  ),
}
