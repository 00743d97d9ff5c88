import packageJson from '../../package.json' with { type: 'json' }

/** How the gateway identifies itself on behalf of several servers, or without a client. */
export const GATEWAY: { readonly name: string; readonly version: string } = {
  name: 'gwctl',
  version: packageJson.version,
}
