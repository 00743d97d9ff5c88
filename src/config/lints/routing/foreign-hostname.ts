import type { Lint } from '../lint.ts'

/** GW527: a route hostname whose requests go to another listener, or to none. */
export const foreignHostname: Lint = file => {
  const fits = new Map<readonly string[], string[]>()
  for (const { listeners } of file.snapshot.binds)
    for (const { hostname, routes } of listeners)
      for (const { hostnames } of routes) fits.set(hostnames, [...(fits.get(hostnames) ?? []), hostname])
  for (const [names, listeners] of fits) {
    for (const [i, name] of names.entries()) {
      if (listeners.some(listener => overlap(listener, name))) continue
      file.report({
        code: 'GW527',
        message: `no request for \`${name}\` arrives here: the listener serves \`${listeners[0]}\``,
        path: [...file.pathOf(names), i],
        at: 'value',
        label: 'never matches',
        help: 'correct the name, or the `hostname` of the listener',
      })
    }
  }
}

function overlap(a: string, b: string): boolean {
  if (a === '' || a === '*' || b === '' || b === '*' || a === b) return true
  const within = (wild: string, name: string) => wild.startsWith('*.') && name.endsWith(wild.slice(1))
  return within(a, b) || within(b, a)
}
