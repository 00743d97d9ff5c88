import packageJson from '../../package.json' with { type: 'json' }

/** How the gateway introduces itself where it speaks for several servers, or for no client. */
export const GATEWAY: { readonly name: string; readonly version: string } = {
  name: 'gwctl',
  version: packageJson.version,
}
