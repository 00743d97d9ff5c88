import type { Path } from '../../diagnostics/diagnostic.ts'
import { logFilterProblem } from '../../runtime/log-filter.ts'
import { asFields, type Fields } from '../../schema/untyped.ts'
import { specOf } from '../translate/cluster-view.ts'
import type { Parameters } from './parameters.ts'
import { amountOf } from './quantity.ts'
import { type KubeObject, meshOf } from './replica.ts'

/** Reports combined parameters that an API server would reject, or that no replica could serve. */
export function checkParameters(parameters: Parameters, kind: string): void {
  checkImage(parameters)
  checkResources(parameters)
  checkVariables(parameters)
  checkOverlayKinds(parameters, kind)
  for (const section of Object.keys(asFields(parameters.spec.rawConfig) ?? {})) {
    if (section !== 'config')
      addFinding(
        parameters,
        'GW602',
        ['rawConfig', section],
        `\`${section}\` is not served together with the cluster's own configuration`,
      )
  }
  const { level } = parameters.spec.logging ?? {}
  const wrong = level === undefined || level === '' ? undefined : logFilterProblem(level)
  if (wrong !== undefined)
    addFinding(parameters, 'GW106', ['logging', 'level'], `\`${level}\` is not a log filter: ${wrong}`)
  if (meshOf(parameters)) {
    addFinding(
      parameters,
      'GW601',
      ['istio'],
      'mutual TLS with a mesh is not served yet: only the settings are passed on',
    )
  }
  if (parameters.spec.spiffe && parameters.spec.spiffe.enabled !== false) {
    addFinding(parameters, 'GW601', ['spiffe'], 'certificates of SPIFFE are not served yet: only the socket is mounted')
  }
}

function addFinding(
  parameters: Parameters,
  code: 'GW103' | 'GW104' | 'GW106' | 'GW111' | 'GW601' | 'GW602',
  path: Path,
  message: string,
): void {
  parameters.report({ code, message, path, at: code.startsWith('GW6') ? 'key' : 'value' })
}

const TAG = /^\w[\w.-]{0,127}$/
const DIGEST = /^[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/
const REPOSITORY = /^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/
const REGISTRY =
  /^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?\.)*[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(:\d+)?(\/[a-z0-9._/-]+)?$/

function checkImage(parameters: Parameters): void {
  const { registry = '', repository, tag = '', digest = '', pullPolicy } = parameters.spec.image ?? {}
  const wrong = (field: string, text: string, what: string) =>
    addFinding(parameters, 'GW106', ['image', field], `\`${text}\` is not ${what}`)
  if (repository !== undefined && !REPOSITORY.test(repository))
    wrong('repository', repository, 'the name of a repository')
  if (registry !== '' && !REGISTRY.test(registry)) wrong('registry', registry, 'the address of a registry')
  if (tag !== '' && !TAG.test(tag)) wrong('tag', tag, 'a tag')
  if (digest !== '' && !DIGEST.test(digest)) wrong('digest', digest, 'a digest, which begins with `sha256:`')
  if (pullPolicy !== undefined && !['Always', 'IfNotPresent', 'Never'].includes(pullPolicy)) {
    const message = `\`${pullPolicy}\` is not a pull policy: write \`Always\`, \`IfNotPresent\` or \`Never\``
    addFinding(parameters, 'GW104', ['image', 'pullPolicy'], message)
  }
}

/** An API server rejects a Pod whose requests exceed its limits. */
function checkResources(parameters: Parameters): void {
  const { limits = {}, requests = {} } = parameters.spec.resources ?? {}
  for (const [name, request] of Object.entries({ cpu: '100m', memory: '128Mi', ...requests })) {
    const limit = (limits as Fields)[name]
    if (limit === undefined || !(amountOf(request) > amountOf(limit))) continue
    const path = ['resources', 'limits', name]
    addFinding(parameters, 'GW111', path, `the limit ${String(limit)} is less than the request ${String(request)}`)
  }
}

function checkVariables(parameters: Parameters): void {
  for (const level of parameters.levels) {
    const list = specOf(level).env
    if (!Array.isArray(list)) continue
    for (const [index, variable] of list.entries()) {
      const name = asFields(variable)?.name
      if (typeof name !== 'string' || /^[ -<>-~]+$/.test(name)) continue
      const message = `\`${name}\` cannot be the name of a variable`
      parameters.report({ code: 'GW106', message, path: ['env', index, 'name'], at: 'value' }, level)
    }
  }
}

/** One level may set the kind, and the other one the overlay. */
function checkOverlayKinds(parameters: Parameters, kind: string): void {
  const misfits = kind === 'Deployment' ? ['daemonSet'] : ['deployment', 'horizontalPodAutoscaler']
  for (const level of parameters.levels) {
    for (const overlay of misfits) {
      if (specOf(level)[overlay] == null) continue
      const message = `\`${overlay}\` does not fit a workload of kind ${kind}`
      parameters.report({ code: 'GW111', message, path: [overlay], at: 'key' }, level)
    }
  }
}

/** Reports required fields that overlays have removed. */
export function checkObject({ kind, spec }: KubeObject, parameters: Parameters): void {
  if (kind !== 'HorizontalPodAutoscaler' || asFields(spec)?.maxReplicas !== undefined) return
  const message = 'an autoscaler needs `maxReplicas`: write it in `spec`'
  addFinding(parameters, 'GW103', ['horizontalPodAutoscaler'], message)
}
