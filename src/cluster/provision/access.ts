import type { ObjectNode } from '../../schema/builder.ts'
import type { Fields } from '../../schema/untyped.ts'
import { pluralOf } from '../kinds/crd.ts'
import { KINDS } from '../kinds/index.ts'
import type { ResourceKind } from '../kinds/resource.ts'
import { type KubeObject, namespaced, type Replica } from './replica.ts'

const RBAC = 'rbac.authorization.k8s.io'
const READ = ['get', 'list', 'watch']

/** The service account of a replica and its permissions: read the translated kinds, write statuses, elect a leader. */
export function access(replica: Replica, ownGroups: readonly string[]): KubeObject[] {
  const { namespace, name } = replica
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  // Cluster-wide objects have no owner with which they could be garbage-collected.
  const clusterWide = { name: `gwctl:${namespace}:${replica.gateway.name}`, labels: replica.labels }
  const roleRef = (kind: string, of: string) => ({ apiGroup: RBAC, kind, name: of })
  return [
    namespaced(replica, 'v1', 'ServiceAccount', { automountServiceAccountToken: false }),
    { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: clusterWide, rules: clusterRules(ownGroups) },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: clusterWide,
      roleRef: roleRef('ClusterRole', clusterWide.name),
      subjects,
    },
    namespaced(replica, `${RBAC}/v1`, 'Role', { rules: [LEASES] }),
    namespaced(replica, `${RBAC}/v1`, 'RoleBinding', { roleRef: roleRef('Role', name), subjects }),
  ]
}

const LEASES = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  verbs: ['create', 'get', 'list', 'patch', 'update', 'watch'],
}

/** Covers every translated kind; those without a status are read-only. */
function clusterRules(ownGroups: readonly string[]): Fields[] {
  const byGroup = new Map<string, ResourceKind[]>()
  for (const kind of KINDS) {
    for (const group of kind.own ? ownGroups : [kind.group]) byGroup.set(group, [...(byGroup.get(group) ?? []), kind])
  }
  return [...byGroup]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([group, kinds]) => {
      const apiGroups = [group]
      const statuses = kinds.filter(hasStatus).flatMap(kind => namesOf(kind, group).map(name => `${name}/status`))
      const read = { apiGroups, resources: kinds.flatMap(kind => namesOf(kind, group)).sort(), verbs: READ }
      return statuses.length === 0 ? [read] : [read, { apiGroups, resources: statuses.sort(), verbs: ['get', 'patch'] }]
    })
}

/** Statuses of the core kinds belong to the cluster, and parameters have none. */
function hasStatus({ group, kind, schema }: ResourceKind): boolean {
  return group !== '' && kind !== 'ProxyParameters' && (schema.node as ObjectNode).fields.status !== undefined
}

function namesOf({ kind, own }: ResourceKind, group: string): string[] {
  return [kind, ...(own && group === own.aliasGroup ? [own.alias] : [])].map(pluralOf)
}
