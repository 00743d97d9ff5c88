import { HTTP_DEFAULTS } from '../policies/frontend/http.ts'
import { TCP_DEFAULTS } from '../policies/frontend/tcp.ts'
import { TLS_DEFAULTS } from '../policies/frontend/tls.ts'
import type { FrontendSettings } from '../policies/policy.ts'
import type { Step } from './snapshot.ts'

/** The combined settings of the frontend policies, over the defaults. */
export function frontendSettings(steps: readonly Step[]): FrontendSettings {
  let settings: FrontendSettings = {
    ...HTTP_DEFAULTS,
    ...TCP_DEFAULTS,
    ...TLS_DEFAULTS,
    proxyProtocol: undefined,
    tunnels: false,
  }
  for (const { hooks } of steps) if (hooks.frontend) settings = { ...settings, ...hooks.frontend }
  return settings
}
