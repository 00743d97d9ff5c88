import { standalone } from '../standalone/standalone.ts'
import { visitWritten, type WrittenValue } from '../written-values.ts'
import { cacheThreshold } from './ai/cache-threshold.ts'
import { commandLine } from './ai/command-line.ts'
import { foreignSettings } from './ai/foreign-settings.ts'
import { greedyPattern } from './ai/greedy-pattern.ts'
import { hiddenOverride } from './ai/hidden-override.ts'
import { mcpKinds, mcpNames } from './ai/mcp-names.ts'
import { mcpPrefix } from './ai/mcp-prefix.ts'
import { missingCommand } from './ai/missing-command.ts'
import { guardsWithoutModel, rejectOnReply, unguardedStreams } from './ai/prompt-guards.ts'
import { constantCondition } from './constant-condition.ts'
import { deprecatedField } from './deprecated-field.ts'
import { bodyTotal } from './limits/body-total.ts'
import { bufferedBody } from './limits/buffered-body.ts'
import { looserLimit } from './limits/looser-limit.ts'
import { outwaitedLimit } from './limits/outwaited-limit.ts'
import { ownBodyLimit } from './limits/own-body-limit.ts'
import { pointlessRetry } from './limits/pointless-retry.ts'
import { emptyBucket, tokensWithoutModel } from './limits/rate-limits.ts'
import { retriedSuccess } from './limits/retried-success.ts'
import { unreachedTimeout } from './limits/unreached-timeout.ts'
import { zeroBodyLimit } from './limits/zero-body-limit.ts'
import { zeroTimeout } from './limits/zero-timeout.ts'
import type { Lint, LintedFile } from './lint.ts'
import { lowPort } from './low-port.ts'
import { adminPort } from './routing/admin-port.ts'
import { besideAnswer } from './routing/beside-answer.ts'
import { contradictingHeaders } from './routing/contradicting-headers.ts'
import { emptyListener } from './routing/empty-listener.ts'
import { foreignHostname } from './routing/foreign-hostname.ts'
import { hopHeaders } from './routing/hop-headers.ts'
import { idlePolicy } from './routing/idle-policy.ts'
import { impossibleMatch } from './routing/impossible-match.ts'
import { literalPattern } from './routing/literal-pattern.ts'
import { mirrorToItself } from './routing/mirror-to-itself.ts'
import { neverEqual } from './routing/never-equal.ts'
import { ownPort } from './routing/own-port.ts'
import { pathPattern } from './routing/path-pattern.ts'
import { policyTargets } from './routing/policy-targets.ts'
import { prefixRewrite } from './routing/prefix-rewrite.ts'
import { pseudoHeader } from './routing/pseudo-header.ts'
import { repeatedItem } from './routing/repeated-item.ts'
import { replacedHeaders } from './routing/replaced-headers.ts'
import { ruleAgainstMatch } from './routing/rule-against-match.ts'
import { sameBackend } from './routing/same-backend.ts'
import { sameName } from './routing/same-name.ts'
import { selfRedirect } from './routing/self-redirect.ts'
import { unaskedBackends } from './routing/unasked-backends.ts'
import { unreachableEntry, unreachableTarget } from './routing/unreachable-entry.ts'
import { unreachableRoute } from './routing/unreachable-route.ts'
import { unusedBackend } from './routing/unused-backend.ts'
import { unusedMirror } from './routing/unused-mirror.ts'
import { withoutEffect } from './routing/without-effect.ts'
import { wrongProtocol } from './routing/wrong-protocol.ts'
import { zeroWeights } from './routing/zero-weights.ts'
import { anyAudience } from './security/any-audience.ts'
import { defaultMode, optionalAuth, sameCredential } from './security/auth-modes.ts'
import { contradictingRules } from './security/contradicting-rules.ts'
import { corsForAll, corsForMcp, corsWithoutPreflight } from './security/cors.ts'
import { corsAgainstCsrf } from './security/cors-against-csrf.ts'
import { decisionCache } from './security/decision-cache.ts'
import { failsOpen } from './security/fails-open.ts'
import { literalSecret } from './security/literal-secret.ts'
import { mcpDocuments } from './security/mcp-documents.ts'
import { noRules } from './security/no-rules.ts'
import { openAdmin } from './security/open-admin.ts'
import { openProxy } from './security/open-proxy.ts'
import { plainKeys } from './security/plain-keys.ts'
import { portOfAnotherProtocol } from './security/port-of-another-protocol.ts'
import { signInReturn, targetSignInReturn } from './security/sign-in-return.ts'
import { unnormalizedPaths } from './security/unnormalized-paths.ts'
import { unreadBody } from './security/unread-body.ts'
import { unverifiedClaims } from './security/unverified-claims.ts'
import { unverifiedTls } from './security/unverified-tls.ts'
import { policySites } from './sites.ts'

/** In the order in which findings at one place are reported. */
const LINTS: readonly Lint[] = [
  unreachableRoute,
  unreachableEntry,
  unreachableTarget,
  zeroWeights,
  hiddenOverride,
  rejectOnReply,
  unguardedStreams,
  guardsWithoutModel,
  failsOpen,
  unverifiedTls,
  signInReturn,
  targetSignInReturn,
  mcpDocuments,
  literalSecret,
  openProxy,
  decisionCache,
  corsForMcp,
  corsWithoutPreflight,
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
  mcpKinds,
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
  portOfAnotherProtocol,
  cacheThreshold,
  plainKeys,
  bufferedBody,
  unnormalizedPaths,
  bodyTotal,
  prefixRewrite,
  unverifiedClaims,
  literalPattern,
  anyAudience,
  sameName,
  selfRedirect,
  ownPort,
  pseudoHeader,
  sameBackend,
  mirrorToItself,
  unreachedTimeout,
  contradictingHeaders,
  replacedHeaders,
  contradictingRules,
  retriedSuccess,
  besideAnswer,
  impossibleMatch,
  neverEqual,
  outwaitedLimit,
  noRules,
  commandLine,
  repeatedItem,
  adminPort,
  ownBodyLimit,
  zeroBodyLimit,
  corsAgainstCsrf,
  foreignSettings,
  greedyPattern,
  looserLimit,
  idlePolicy,
  ruleAgainstMatch,
]

type Visitor = (found: WrittenValue) => void

/** Doubtful configuration: warnings and remarks, which never keep a file from running. */
export function lint(file: Omit<LintedFile, 'sites' | 'visit' | 'visitTerms'>): void {
  const always: Visitor[] = []
  const visitors = new Map<string, Visitor[]>()
  const visit: LintedFile['visit'] = (kind, see) => {
    const list = kind === 'any' ? always : visitors.get(kind)
    if (list) list.push(see)
    else visitors.set(kind, [see])
  }
  const linted: LintedFile = {
    ...file,
    sites: policySites(file.config, file.pathOf),
    visit,
    visitTerms(see) {
      visit('cel', ({ node, value, path }) => {
        if (node.kind !== 'cel' || typeof value !== 'string') return
        const term = file.termOf(value)
        if (term) see({ node, text: value, term, path })
      })
    },
  }
  for (const check of LINTS) check(linted)
  // One walk serves all lints.
  visitWritten(standalone, file.document.value, found => {
    for (const see of always) see(found)
    const list = visitors.get(found.node.kind)
    if (list) for (const see of list) see(found)
  })
}
