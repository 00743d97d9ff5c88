import type { Command } from '@oclif/core/command'
import type { GatewayCommand } from './command.ts'
import type { Io } from './io.ts'

/** The part of a command's class that the dispatcher uses. */
export interface CommandClass extends Pick<typeof Command, 'args' | 'flags' | 'baseFlags'> {
  new (argv: string[], io: Io): GatewayCommand
}

export type CommandTable = Readonly<Record<string, () => Promise<{ readonly default: CommandClass }>>>

/**
 * All commands, loaded on demand, in the order of the help: before serving, serving, inspecting a running gateway,
 * reference. Tests check that it matches the files in `commands/`.
 */
export const COMMANDS: CommandTable = {
  validate: () => import('../../commands/validate.ts'),
  test: () => import('../../commands/test.ts'),
  route: () => import('../../commands/route.ts'),
  eval: () => import('../../commands/eval.ts'),
  diff: () => import('../../commands/diff.ts'),
  translate: () => import('../../commands/translate.ts'),
  provision: () => import('../../commands/provision.ts'),
  run: () => import('../../commands/run.ts'),
  mcp: () => import('../../commands/mcp.ts'),
  dump: () => import('../../commands/dump.ts'),
  trace: () => import('../../commands/trace.ts'),
  top: () => import('../../commands/top.ts'),
  usage: () => import('../../commands/usage.ts'),
  health: () => import('../../commands/health.ts'),
  log: () => import('../../commands/log.ts'),
  profile: () => import('../../commands/profile.ts'),
  explain: () => import('../../commands/explain.ts'),
  schema: () => import('../../commands/schema.ts'),
  crds: () => import('../../commands/crds.ts'),
  completion: () => import('../../commands/completion.ts'),
  version: () => import('../../commands/version.ts'),
}
