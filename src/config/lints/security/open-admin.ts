import { parseListenAddress } from '../../../http/listen-address.ts'
import type { Lint } from '../lint.ts'

/** GW528: an admin server that is reachable from other machines. */
export const openAdmin: Lint = file => {
  const address = parseListenAddress(file.config.config?.adminAddr ?? 'off')
  if (address?.kind !== 'tcp' || address.hosts.every(host => host === '::1' || host.startsWith('127.'))) return
  file.report({
    code: 'GW528',
    message: 'the admin server has no authentication, and other machines can reach it',
    path: ['config', 'adminAddr'],
    at: 'value',
    label: 'not a loopback address',
    help: 'write `127.0.0.1:15000` or `unix:/path`, or `off`',
  })
}
