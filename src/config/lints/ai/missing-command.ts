import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Lint } from '../lint.ts'
import { mcpBackends } from '../sites.ts'

/** GW530: a program that is not installed on this machine; checked in tier `env` only. */
export const missingCommand: Lint = file => {
  if (file.tier !== 'env') return
  for (const { targets } of mcpBackends(file.config)) {
    for (const { stdio } of targets) {
      if (!stdio || found(stdio.cmd, file.env.PATH ?? '')) continue
      file.report({
        code: 'GW530',
        message: `the program \`${stdio.cmd}\` is not on this machine`,
        path: [...file.pathOf(stdio), 'cmd'],
        at: 'value',
        label: stdio.cmd.includes('/') ? 'no such program' : 'not in PATH',
        help: 'install it, or correct the name',
      })
    }
  }
}

function found(command: string, path: string): boolean {
  const places = command.includes('/') ? [command] : path.split(delimiter).map(folder => join(folder, command))
  return places.some(place => {
    try {
      accessSync(place, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
