import type { Resource } from '../resources/resource.ts'
import { attachRoutes } from './attachment.ts'
import { BackendWriter } from './backends.ts'
import { ClusterView, compare, idOf, specOf } from './cluster-view.ts'
import { childParents, Delegation } from './delegation.ts'
import { writeGateways } from './gateways.ts'
import { findGateways } from './listeners.ts'
import { writeModelCatalog } from './members/model-catalog.ts'
import { modelParents } from './model-parents.ts'
import { writeModels } from './models.ts'
import { createOutput, type EmittedRoute, finished } from './output.ts'
import { placePolicies } from './policies.ts'
import { findTargets, type PolicyState } from './policy-targets.ts'
import { findReach, type Reached } from './reach.ts'
import { writeRoutes } from './routes.ts'
import { type Decision, settle } from './settle.ts'
import { classStatuses } from './status/class-status.ts'
import type { Status } from './status/conditions.ts'
import { gatewayStatuses } from './status/gateway-status.ts'
import { poolStatuses, tlsPolicyStatuses } from './status/other-status.ts'
import { backendStatus, policyStatus, routeStatus } from './status/status.ts'
import { at, type Faults, type TranslateOptions, Work } from './work.ts'

export interface Translated {
  readonly work: Work
  /** The standalone file as plain data. */
  readonly value: Record<string, unknown>
  readonly statuses: readonly Status[]
  readonly decisions: readonly Decision[]
  readonly emitted: readonly EmittedRoute[]
}

/**
 * Translates resources to one standalone file, with the statuses that a controller would write. `resources`: those that
 * an API server would accept. The result depends on their content, not on order or files.
 */
export async function translate(
  resources: readonly Resource[],
  faults: Faults,
  options: TranslateOptions,
): Promise<Translated> {
  const work = new Work(new ClusterView(resources), options)
  const output = createOutput()
  const gateways = findGateways(work)
  const routes = attachRoutes(gateways, work)
  await options.pause?.()
  const served = writeGateways(gateways, output, work)
  const priced = writeModelCatalog(gateways, output, work)
  const policies = work.cluster.list('ProxyPolicy').map(policy => withFaults(findTargets(policy, work), faults))
  const delegation = new Delegation(routes, work)
  const backends = new BackendWriter(policies, work)
  backends.write(output)
  for (const [backend, errors] of backends.errors) errors.push(...(faults.get(backend) ?? []))
  const emitted: EmittedRoute[] = []
  await writeRoutes(routes, { work, output, backends, served, delegation, emitted })
  await options.pause?.()
  writeModels(routes, served, output, backends, faults, work)
  const placed = placePolicies(policies, { work, served, emitted, gateways: gateways.length }, output)
  backends.writeCalled(output)
  const decisions = settle(placed, emitted, output, work)
  await options.pause?.()
  loseUntargeted(policies, work)
  loseUnread(new Set(policies.filter(({ produced }) => !produced).map(({ policy }) => policy)), work)
  loseProvisioning(priced, work)
  const statuses =
    options.statuses === false ? [] : await statusesOf({ gateways, routes, policies, delegation }, backends, work)
  return { work, value: finished(output), statuses, decisions, emitted }
}

async function statusesOf(found: Reached, backends: BackendWriter, work: Work): Promise<Status[]> {
  const { gateways, routes, policies, delegation } = found
  const reach = await findReach(found, work)
  await work.options.pause?.()
  const behindRoutes = modelParents(routes)
  const statuses = [
    ...classStatuses(work),
    ...gateways.flatMap(gatewayStatuses),
    ...routes.map(state => {
      const inner = behindRoutes.get(state) ?? childParents(state, delegation, work)
      return routeStatus(state, [...state.parents, ...inner])
    }),
    ...policies.map(state => policyStatus(state, reach)),
    ...[...backends.errors].map(([backend, errors]) => backendStatus(backend, errors)),
    ...tlsPolicyStatuses(gateways, reach, work),
    ...poolStatuses(reach, gateways, work),
  ]
  return statuses.sort((a, b) => compare(idOf(a.resource), idOf(b.resource)))
}

function withFaults(state: PolicyState, faults: Faults): PolicyState {
  state.errors.push(...(faults.get(state.policy) ?? []))
  return state
}

/** Reports unread fields of our own kinds as losses. */
function loseUnread(idle: ReadonlySet<Resource>, work: Work): void {
  for (const kind of ['ProxyPolicy', 'ProxyBackend', 'ProxyModel']) {
    for (const resource of work.cluster.list(kind)) {
      // A policy without a target is lost as a whole, which has been reported.
      if (idle.has(resource)) continue
      for (const path of work.tracker.unread(resource)) {
        if (['parentRefs', 'targetRefs', 'targetSelectors'].includes(String(path[1]))) continue
        work.lose({ resource, path }, `\`${path.slice(1).join('.')}\` is not carried over`)
      }
    }
  }
}

function loseProvisioning(priced: ReadonlySet<Resource>, work: Work): void {
  for (const resource of work.cluster.list('ProxyParameters')) {
    for (const field of Object.keys(specOf(resource))) {
      if (field === 'modelCatalog' && priced.has(resource)) continue
      work.lose(at(resource, 'spec', field), `\`${field}\` says how a proxy is provisioned: it has no place in a file`)
    }
  }
}

function loseUntargeted(policies: readonly PolicyState[], work: Work): void {
  for (const { policy, targets, errors } of policies) {
    // A key set that has not been fetched is fetched on first use.
    for (const error of errors) if (!work.awaited.has(error)) work.lose(at(policy, 'spec'), error)
    for (const { ref, problem } of targets) {
      if (problem !== undefined) work.lose(work.from(ref, policy), `the policy does not apply: ${problem}`)
    }
  }
}
