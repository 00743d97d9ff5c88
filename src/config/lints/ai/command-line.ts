import type { Lint } from '../lint.ts'
import { mcpBackends } from '../sites.ts'

/** GW573: a whole command line in place of a program name. */
export const commandLine: Lint = file => {
  for (const { targets } of mcpBackends(file.config)) {
    for (const { stdio } of targets) {
      const [program = '', ...args] = stdio?.cmd.trim().split(/\s+/) ?? []
      // Paths may legitimately contain spaces.
      if (!stdio || args.length === 0 || /[/\\]/.test(program)) continue
      const shown = args.map(each => JSON.stringify(each)).join(', ')
      file.report({
        code: 'GW573',
        message: `\`cmd\` is not run by a shell: gwctl would look for a program named \`${stdio.cmd}\``,
        path: [...file.pathOf(stdio), 'cmd'],
        at: 'value',
        label: 'a program with its arguments',
        help: `write \`cmd: ${program}\` and \`args: [${shown}${stdio.args.length > 0 ? ', …' : ''}]\``,
      })
    }
  }
}
