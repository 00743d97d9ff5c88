import { readFileSync } from 'node:fs'
import type { Command } from '@oclif/core/command'

/** `oclif.manifest.json`: the help of all commands, without loading them. */
export interface Manifest {
  readonly version: string
  readonly commands: Readonly<Record<string, Command.Cached>>
}

/** `root` is the package's directory, with a trailing slash. */
export function readManifest(root: URL): Manifest {
  return JSON.parse(readFileSync(new URL('oclif.manifest.json', root), 'utf8')) as Manifest
}
