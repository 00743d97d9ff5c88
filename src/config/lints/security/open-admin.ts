import type { Lint } from '../lint.ts'

/** GW528: an admin server that other machines reach. */
export const openAdmin: Lint = file => {
  const address = file.config.config?.adminAddr
  if (address === undefined || address === 'off' || 'unixPath' in address) return
  if (address.host === 'localhost' || address.host === '::1' || address.host.startsWith('127.')) return
  file.report({
    code: 'GW528',
    message: 'other machines reach the admin server, which asks nobody who they are',
    path: ['config', 'adminAddr'],
    at: 'value',
    label: 'not a loopback address',
    help: 'write `127.0.0.1:15000` or `unix:/path`, or `off`',
  })
}
