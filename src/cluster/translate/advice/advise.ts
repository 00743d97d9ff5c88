import { Engines } from '../../../config/engines.ts'
import type { Code } from '../../../diagnostics/codes.ts'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { asItems } from '../../../schema/untyped.ts'
import type { Engines as MadeEngines } from '../../resources/decode-resources.ts'
import { labelOf, type Resource } from '../../resources/resource.ts'
import { specOf } from '../cluster-view.ts'
import { isRouteRef } from '../delegation.ts'
import { finish } from '../finish.ts'
import { translate } from '../translate.ts'
import { isStandIn, standIns } from './stand-ins.ts'

/**
 * Reports what shows only in the combination of valid resources: what is not served, and lints. The lints are those of
 * standalone files, applied to the translated file; whatever the input lacks is made up.
 */
export async function advise(
  resources: readonly Resource[],
  options: { readonly partial: boolean; readonly runtime: Runtime; readonly engines: MadeEngines },
): Promise<Diagnostic[]> {
  const made = standIns(resources)
  const gateways = resources.some(({ kind }) => kind.kind === 'Gateway')
  const complete = gateways && made.length === 0 && !options.partial
  const files = new Map<string, Buffer>()
  const translated = await translate([...resources, ...made], new Map(), {
    partial: options.partial || made.length > 0,
    withSecrets: true,
    allowUnguarded: false,
    statuses: false,
    filePath: ({ kind, namespace, name, key, bytes }) => {
      const path = `<memory>/${kind}/${namespace}/${name}/${key}`
      files.set(path, bytes)
      return path
    },
  })
  const { advice, losses, refused, loaded } = await finish(translated, {
    runtime: options.runtime,
    file: '',
    advice: true,
    shown: false,
    engines: new Engines(options.engines),
    readReferenced: path => (path === '/dev/null' ? Buffer.alloc(0) : files.get(path)),
  })
  // What is left out may be needed elsewhere.
  const whole = complete && losses.length === 0
  const found = [
    ...losses
      .filter(loss => loss.code === 'GW601' || loss.code === 'GW523' || refused.has(loss))
      .map(d => ({ ...d, message: inResourceTerms(d.message), ...(d.code === 'GW523' && { help: IN_VAIN }) })),
    ...(complete ? loaded.diagnostics.filter(({ severity }) => severity === 'error') : []),
    ...advice
      .filter(({ code }) => !NOT_HERE.has(code) && (whole || !OF_THE_WHOLE.has(code)))
      .map(d => ({ ...d, message: inResourceTerms(d.message), ...IN_RESOURCES[d.code] })),
  ].filter(d => !isStandIn(d) && d.file !== '' && !isCausedByDelegation(d, resources))
  // A policy with several targets occurs several times in the file.
  return [...new Map(found.map(d => [`${d.code} ${d.file} ${d.range.start.offset}`, d])).values()]
}

const IN_VAIN =
  'of two policies the older one holds, then the one whose name sorts first: put both into one, or remove it'

/** Requests that no child matches get 404, so it is no mistake if nothing remains for that. */
function isCausedByDelegation({ code, resource, path }: Diagnostic, resources: readonly Resource[]): boolean {
  if (code !== 'GW501' && code !== 'GW502') return false
  const route = resources.find(each => labelOf(each) === resource)
  const rule = asItems(route && specOf(route).rules)[Number(/rules\[(\d+)\]/.exec(path)?.[1] ?? -1)]
  return asItems(rule?.backendRefs).some(isRouteRef)
}

/**
 * A proxy runs unprivileged behind a Service on any port; the default of `mode` is the public system's; and supported
 * protocols are checked as attachment.
 */
const NOT_HERE: ReadonlySet<Code> = new Set(['GW517', 'GW532', 'GW544', 'GW557'])

/** Lints about missing parts, which may be in other files. */
const OF_THE_WHOLE: ReadonlySet<Code> = new Set(['GW511', 'GW521', 'GW522', 'GW523', 'GW538', 'GW545', 'GW554'])

function inResourceTerms(message: string): string {
  return message.replaceAll(/`(jwtAuth|basicAuth|apiKey|backendAuth)`/g, (_, name: string) => `\`${NAMES[name]}\``)
}

const NAMES: Readonly<Record<string, string>> = {
  jwtAuth: 'jwtAuthentication',
  basicAuth: 'basicAuthentication',
  apiKey: 'apiKeyAuthentication',
  backendAuth: 'auth',
}

/** Replaces messages for standalone files that name fields which resources name differently. */
const IN_RESOURCES: Partial<Record<Code, Partial<Pick<Diagnostic, 'message' | 'help'>>>> = {
  GW501: { help: 'longer paths and more conditions are tried first: narrow the other match, or extend this one' },
  GW502: { help: 'the older route is chosen; make the match differ, or remove it' },
  GW507: { help: 'write `Mask`, or refuse with another kind of guard (`webhook`)' },
  GW508: { help: 'write `FailClosed`, unless availability matters more than the check' },
  GW509: { help: 'name the issuer with `caCertificateRefs`, and the server with `sni` or `verifySubjectAltNames`' },
  GW510: { help: 'put it into a Secret, and name that with `secretRef`' },
  GW511: { help: 'add a ProxyPolicy with `traffic.authorization` over `request.host`' },
  GW516: { help: 'write `mode: Strict`, or let the rule allow for requests without one: `has(…)`' },
  GW518: { help: 'make it shorter than the time limit of the whole request, or do not retry' },
  GW521: { help: 'refer to it in the `backendRefs` of a route, or remove it' },
  GW522: {
    message: 'nothing is attached to this port of the Gateway',
    help: 'attach a route with `parentRefs`, or remove the listener',
  },
  GW523: { message: 'the policy has no effect: a narrower one of the same kind replaces it everywhere' },
  GW531: { message: 'a time limit of 0 means no limit, not at once' },
  GW538: { help: 'add `backendRefs`, or a filter that answers' },
  GW554: { help: 'add the authentication in a ProxyPolicy for the route or its Gateway' },
  GW555: {
    help: 'write a shorter `PathPrefix`, or `type: RegularExpression`',
  },
  GW558: { help: 'change the scheme, the hostname or the path, or match less than the target of the redirect' },
  GW560: { help: 'match with `path` and `queryParams`' },
  GW561: { help: 'name another backend, or write one `backendRef` with the weight of both' },
  GW545: { help: 'add `policies.tls` to the ProxyBackend, or a BackendTLSPolicy for the Service' },
}
