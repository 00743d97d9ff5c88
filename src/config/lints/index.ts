import { standalone } from '../standalone/standalone.ts'
import { visitWritten, type WrittenValue } from '../written-values.ts'
import { cacheThreshold } from './ai/cache-threshold.ts'
import { hiddenOverride } from './ai/hidden-override.ts'
import { mcpNames } from './ai/mcp-names.ts'
import { mcpPrefix } from './ai/mcp-prefix.ts'
import { missingCommand } from './ai/missing-command.ts'
import { rejectOnReply, unguardedStreams } from './ai/prompt-guards.ts'
import { constantCondition } from './constant-condition.ts'
import { deprecatedField } from './deprecated-field.ts'
import { bufferedBody } from './limits/buffered-body.ts'
import { pointlessRetry } from './limits/pointless-retry.ts'
import { emptyBucket, tokensWithoutModel } from './limits/rate-limits.ts'
import { zeroTimeout } from './limits/zero-timeout.ts'
import type { Lint, LintedFile } from './lint.ts'
import { lowPort } from './low-port.ts'
import { emptyListener } from './routing/empty-listener.ts'
import { foreignHostname } from './routing/foreign-hostname.ts'
import { hopHeaders } from './routing/hop-headers.ts'
import { pathPattern } from './routing/path-pattern.ts'
import { policyTargets } from './routing/policy-targets.ts'
import { unaskedBackends } from './routing/unasked-backends.ts'
import { unreachableEntry, unreachableTarget } from './routing/unreachable-entry.ts'
import { unreachableRoute } from './routing/unreachable-route.ts'
import { unusedBackend } from './routing/unused-backend.ts'
import { unusedMirror } from './routing/unused-mirror.ts'
import { withoutEffect } from './routing/without-effect.ts'
import { wrongProtocol } from './routing/wrong-protocol.ts'
import { zeroWeights } from './routing/zero-weights.ts'
import { defaultMode, optionalAuth, sameCredential } from './security/auth-modes.ts'
import { corsForAll, corsForMcp } from './security/cors.ts'
import { decisionCache } from './security/decision-cache.ts'
import { failsOpen } from './security/fails-open.ts'
import { literalSecret } from './security/literal-secret.ts'
import { openAdmin } from './security/open-admin.ts'
import { openProxy } from './security/open-proxy.ts'
import { plainKeys } from './security/plain-keys.ts'
import { plainOnTlsPort } from './security/plain-on-tls-port.ts'
import { unreadBody } from './security/unread-body.ts'
import { unverifiedTls } from './security/unverified-tls.ts'
import { policySites } from './sites.ts'

/** In the order of their findings at one place. */
const LINTS: readonly Lint[] = [
  unreachableRoute,
  unreachableEntry,
  unreachableTarget,
  zeroWeights,
  hiddenOverride,
  rejectOnReply,
  unguardedStreams,
  failsOpen,
  unverifiedTls,
  literalSecret,
  openProxy,
  decisionCache,
  corsForMcp,
  corsForAll,
  mcpPrefix,
  optionalAuth,
  defaultMode,
  sameCredential,
  pointlessRetry,
  emptyBucket,
  tokensWithoutModel,
  unusedBackend,
  emptyListener,
  policyTargets,
  mcpNames,
  hopHeaders,
  pathPattern,
  foreignHostname,
  openAdmin,
  deprecatedField,
  missingCommand,
  zeroTimeout,
  lowPort,
  constantCondition,
  unusedMirror,
  unaskedBackends,
  unreadBody,
  wrongProtocol,
  withoutEffect,
  plainOnTlsPort,
  cacheThreshold,
  plainKeys,
  bufferedBody,
]

type Visitor = (found: WrittenValue) => void

/** Doubtful configuration: findings that are warnings or remarks and never keep a file from running. */
export function lint(file: Omit<LintedFile, 'sites' | 'visit'>): void {
  const always: Visitor[] = []
  const visitors = new Map<string, Visitor[]>()
  const linted: LintedFile = {
    ...file,
    sites: policySites(file.config, file.pathOf),
    visit(kind, see) {
      const list = kind === 'any' ? always : visitors.get(kind)
      if (list) list.push(see)
      else visitors.set(kind, [see])
    },
  }
  for (const check of LINTS) check(linted)
  // One walk for all of them.
  visitWritten(standalone, file.document.value, found => {
    for (const see of always) see(found)
    const list = visitors.get(found.node.kind)
    if (list) for (const see of list) see(found)
  })
}
