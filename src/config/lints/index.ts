import { standalone } from '../standalone/standalone.ts'
import { visitWritten } from '../written-values.ts'
import { defaultMode, optionalAuth, sameCredential } from './auth-modes.ts'
import { cacheThreshold } from './cache-threshold.ts'
import { constantCondition } from './constant-condition.ts'
import { corsForAll, corsForMcp } from './cors.ts'
import { decisionCache } from './decision-cache.ts'
import { deprecatedField } from './deprecated-field.ts'
import { emptyListener } from './empty-listener.ts'
import { failsOpen } from './fails-open.ts'
import { foreignHostname } from './foreign-hostname.ts'
import { hiddenOverride } from './hidden-override.ts'
import { hopHeaders } from './hop-headers.ts'
import type { Lint, LintedFile } from './lint.ts'
import { literalSecret } from './literal-secret.ts'
import { lowPort } from './low-port.ts'
import { mcpNames } from './mcp-names.ts'
import { mcpPrefix } from './mcp-prefix.ts'
import { missingCommand } from './missing-command.ts'
import { openAdmin } from './open-admin.ts'
import { openProxy } from './open-proxy.ts'
import { pathPattern } from './path-pattern.ts'
import { plainOnTlsPort } from './plain-443.ts'
import { plainKeys } from './plain-keys.ts'
import { pointlessRetry } from './pointless-retry.ts'
import { policyTargets } from './policy-targets.ts'
import { rejectOnReply, unguardedStreams } from './prompt-guards.ts'
import { emptyBucket, tokensWithoutModel } from './rate-limits.ts'
import { policySites } from './sites.ts'
import { unaskedBackends } from './unasked-backends.ts'
import { unreachableEntry, unreachableTarget } from './unreachable-entry.ts'
import { unreachableRoute } from './unreachable-route.ts'
import { unreadBody } from './unread-body.ts'
import { unusedBackend } from './unused-backend.ts'
import { unusedMirror } from './unused-mirror.ts'
import { unverifiedTls } from './unverified-tls.ts'
import { wrongProtocol } from './wrong-protocol.ts'
import { zeroTimeout } from './zero-timeout.ts'
import { zeroWeights } from './zero-weights.ts'

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
  plainOnTlsPort,
  cacheThreshold,
  plainKeys,
]

/** Doubtful configuration: findings that are warnings or remarks and never keep a file from running. */
export function lint(file: Omit<LintedFile, 'sites' | 'visit'>): void {
  const linted: LintedFile = {
    ...file,
    sites: policySites(file.config, file.pathOf),
    visit: see => visitWritten(standalone, file.document.value, see),
  }
  for (const check of LINTS) check(linted)
}
