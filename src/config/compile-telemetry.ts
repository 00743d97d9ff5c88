import { ENDPOINT_VARIABLES, tracingOfToday } from '../policies/frontend/deprecated-tracing.ts'
import { resourceAttributes } from '../policies/frontend/otel-environment.ts'
import { type ComputedField, computedFields, fieldChanges, type LogRules } from '../policies/frontend/telemetry.ts'
import type { Hooks } from '../policies/policy.ts'
import type { Compilation } from './compile-context.ts'
import { compileRequestLog, type RequestLog } from './compile-request-log.ts'
import type { Step } from './snapshot.ts'
import type { ConfigSection } from './standalone/config-section.ts'
import type { Standalone } from './standalone/standalone.ts'

/** The telemetry that requests produce. */
export interface Telemetry {
  readonly log: LogRules
  /** Log records that are exported to a collector. */
  readonly sentLog: NonNullable<Hooks['accessLog']>['sent']
  readonly spans: Hooks['tracing']
  readonly requestLog: RequestLog | undefined
  /** Process attributes from the environment. */
  readonly resource: ReadonlyMap<string, string>
  /** Additional labels of the request metrics. */
  readonly labels: readonly ComputedField[]
  /** Disabled metrics: names with or without prefix, unit and `_total`. */
  readonly withoutMetrics: readonly string[]
}

export function compileTelemetry(config: Standalone, frontend: readonly Step[], c: Compilation): Telemetry {
  const access = frontend.find(step => step.hooks.accessLog)?.hooks.accessLog
  refuseBothForms(config, c)
  const log = access?.log ?? deprecatedRules(config.config)
  return {
    log,
    sentLog: access?.sent,
    spans: frontend.find(step => step.hooks.tracing)?.hooks.tracing,
    requestLog: compileRequestLog(config.config, log, access?.kept ?? [], c),
    resource: resourceAttributes(c.env),
    labels: computedFields(config.config?.metrics?.fields?.add),
    withoutMetrics: config.config?.metrics?.remove ?? [],
  }
}

/** The access log rules of `config.logging`, superseded by `frontendPolicies.accessLog`. */
function deprecatedRules(section: ConfigSection | undefined): LogRules {
  const logging = section?.logging
  return { ...fieldChanges(logging?.fields ?? {}), filter: logging?.filter }
}

/** `config.tracing`, superseded by `frontendPolicies.tracing`, in the form of its successor. */
export function foldTracing(section: ConfigSection | undefined, c: Compilation): object | undefined {
  if (!section?.tracing) return undefined
  const now = tracingOfToday(section.tracing, c.env)
  if (!now) {
    c.report({
      code: 'GW103',
      message: '`tracing` needs `otlpEndpoint`',
      path: ['config', 'tracing'],
      at: 'key',
      label: 'spans have nowhere to go',
      help: `set \`otlpEndpoint\`, or one of ${ENDPOINT_VARIABLES.join(', ')}`,
    })
  }
  return now
}

function refuseBothForms({ config, frontendPolicies }: Standalone, c: Compilation): void {
  const both = (old: readonly string[], present: boolean, now: 'accessLog' | 'tracing'): void => {
    if (!present || frontendPolicies?.[now] === undefined) return
    c.report({
      code: 'GW111',
      message: `\`${old.join('.')}\` is the deprecated form of \`frontendPolicies.${now}\`, and both are set`,
      path: old,
      at: 'key',
      label: 'set here',
      help: `move it to \`frontendPolicies.${now}\``,
      related: [{ path: ['frontendPolicies', now], at: 'key', message: 'and here' }],
    })
  }
  both(['config', 'logging', 'filter'], config?.logging?.filter !== undefined, 'accessLog')
  both(['config', 'logging', 'fields'], config?.logging?.fields !== undefined, 'accessLog')
  both(['config', 'tracing'], config?.tracing !== undefined, 'tracing')
}
