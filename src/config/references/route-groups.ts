// Routes that other routes delegate to, compiled once per delegating route, since they inherit its policies.
import type { Path } from '../../diagnostics/diagnostic.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { type Compilation, leftOut, sectionMisspelt } from '../compile-context.ts'
import type { PolicyLevel } from '../compile-policies.ts'
import type { RouteParent } from '../compile-routes.ts'
import type { IdleObject, Route, RouteGroup } from '../snapshot.ts'
import type { RouteSection } from '../standalone/route-section.ts'
import type { Standalone } from '../standalone/standalone.ts'

type GroupSection = Standalone['routeGroups'][number]

/** Compiles one route of a group. */
export type CompileMember = (
  spec: RouteSection,
  position: number,
  parent: RouteParent,
  inherited: readonly PolicyLevel[],
) => Route

/** Takes the place of a listener where a group is only checked. */
const NOWHERE: RouteParent = { listenerKey: 'routeGroups', gateway: '', listenerName: '', port: 0 }

export class RouteGroups {
  readonly #c: Compilation
  readonly #sections: readonly GroupSection[]
  readonly #byName = new Map<string, GroupSection>()
  readonly #compileMember: CompileMember
  /** By group, listener and inherited policies: routes that delegate alike share the compiled group. */
  readonly #compiled = new Map<string, RouteGroup>()
  readonly #used = new Set<string>()
  /** Groups that are being compiled, outermost first. */
  readonly #open: string[] = []
  readonly #reported = new Set<string>()

  constructor(c: Compilation, sections: readonly GroupSection[], compileMember: CompileMember) {
    this.#c = c
    this.#sections = sections
    this.#compileMember = compileMember
    for (const section of sections) this.#add(section)
  }

  /** `path`: where the name is written. Undefined after a finding. */
  resolve(name: string, path: Path, parent: RouteParent, inherited: readonly PolicyLevel[]): RouteGroup | undefined {
    const section = this.#byName.get(name)
    if (!section) {
      this.#reportUnknown(name, path)
      return undefined
    }
    if (this.#open.includes(name)) {
      this.#reportCycle(name, path)
      return undefined
    }
    this.#used.add(name)
    const key = [parent.listenerKey, name, ...inherited.map(level => level.identity)].join('\0')
    const known = this.#compiled.get(key)
    if (known) return known
    this.#open.push(name)
    const group = {
      name,
      routes: section.routes.map((route, i) =>
        this.#compileMember(route, i, { ...parent, listenerKey: `${parent.listenerKey}/${name}` }, inherited),
      ),
    }
    this.#open.pop()
    this.#compiled.set(key, group)
    return group
  }

  /** Compiles the groups that nothing refers to, so that they are checked all the same. */
  checkUnused(): readonly IdleObject[] {
    const unused = [...this.#byName].filter(([name]) => !this.#used.has(name))
    for (const [name] of unused) this.resolve(name, [], NOWHERE, [])
    return unused.map(([name, section]) => ({
      name,
      origin: this.#c.document.origin(this.#c.paths.get(section) ?? []),
    }))
  }

  #add(section: GroupSection): void {
    const first = this.#byName.get(section.name)
    if (first === undefined) {
      this.#byName.set(section.name, section)
      return
    }
    const place = (of: GroupSection): Path => [...(this.#c.paths.get(of) ?? ['routeGroups']), 'name']
    this.#c.report({
      code: 'GW203',
      message: `two route groups are named \`${section.name}\``,
      path: place(section),
      at: 'value',
      label: 'used a second time',
      related: [{ path: place(first), at: 'value', message: 'first used here' }],
    })
  }

  #reportUnknown(name: string, path: Path): void {
    const dropped = leftOut(this.#c, ['routeGroups'], this.#sections)
    if (sectionMisspelt(this.#c, 'routeGroups') || dropped.some(d => d === undefined || d === name)) return
    if (!this.#first(path)) return
    const known = [...this.#byName.keys()]
    this.#c.report({
      code: 'GW204',
      message: `no route group is named \`${name}\``,
      path,
      at: 'value',
      label: 'not defined in `routeGroups`',
      help:
        didYouMean(name, known) ??
        (known.length > 0
          ? `groups defined here: ${known.map(n => `\`${n}\``).join(', ')}`
          : 'the file has no `routeGroups` section'),
    })
  }

  #reportCycle(name: string, path: Path): void {
    if (!this.#first(path)) return
    const way = [...this.#open.slice(this.#open.indexOf(name)), name]
    this.#c.report({
      code: 'GW210',
      message: `the route group \`${name}\` delegates to itself: ${way.join(' → ')}`,
      path,
      at: 'value',
      label: 'leads back to where it started',
    })
  }

  /** A group is compiled once per path that leads to it, but its mistakes are reported once. */
  #first(path: Path): boolean {
    const key = path.join('.')
    if (this.#reported.has(key)) return false
    this.#reported.add(key)
    return true
  }
}
