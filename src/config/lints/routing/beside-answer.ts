import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'
import { answers } from './unasked-backends.ts'

/** Policies that act on requests forwarded to a backend. */
const ONWARD = ['urlRewrite', 'retry', 'requestMirror'] as const

/** GW566: policies for backend calls, or a second response, on a route that answers by itself. */
export const besideAnswer: Lint = file => {
  for (const { policies } of routesOf(file.config)) {
    const answer = policies && answers(policies)
    if (!policies || answer === undefined) continue
    const idle = ONWARD.filter(name => policies[name] !== undefined) as string[]
    if (answer === 'requestRedirect' && policies.directResponse) idle.push('directResponse')
    for (const name of idle) {
      file.report({
        code: 'GW566',
        message: `\`${answer}\` answers every request: \`${name}\` changes nothing`,
        path: [...file.pathOf(policies), name],
        at: 'key',
        label: 'never runs',
        help: 'remove one of them',
        related: [{ path: [...file.pathOf(policies), answer], at: 'key', message: 'answers here' }],
      })
    }
  }
}
