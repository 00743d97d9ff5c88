import packageJson from '../../package.json' with { type: 'json' }

declare const GWCTL_COMMIT: string | undefined

export interface BuildInfo {
  readonly version: string
  /** `source` when running unbuilt. */
  readonly commit: string
  readonly node: string
  readonly platform: string
}

export function buildInfo(): BuildInfo {
  return {
    version: packageJson.version,
    commit: typeof GWCTL_COMMIT === 'undefined' ? 'source' : GWCTL_COMMIT,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}
