import { optionalTls } from '../../../policies/parts/key-sets.ts'
import { secretText } from '../../../policies/parts/secret-text.ts'
import type { Serving } from '../../../policies/policy.ts'
import type { BackendContext } from '../../backend.ts'
import type { McpTargetSpec } from '../schema.ts'
import type * as ServingParts from '../serving.ts'
import type { Users } from '../targets.ts'
import type { HttpTarget } from '../upstream-call.ts'
import type { SignInPages } from './pages.ts'
import type { TargetUsers } from './target-users.ts'

type Made = Serving<TargetUsers>

/** The targets of one backend at which users sign in. */
export class SignIns {
  readonly #ctx: BackendContext
  readonly #made: { readonly redirect: URL; readonly users: Made }[] = []

  constructor(ctx: BackendContext) {
    this.#ctx = ctx
  }

  /** Where its pages are. */
  get paths(): readonly string[] {
    return [...new Set(this.#made.map(({ redirect }) => redirect.pathname))]
  }

  /** The target as it is called for users, and who they are. */
  at({ name, signIn }: McpTargetSpec, i: number, target: HttpTarget): { target: HttpTarget; users?: Users } {
    if (!signIn) return { target }
    const ctx = this.#ctx
    const at = ['targets', i, 'signIn']
    this.#checkAlone(at, target)
    this.#checkWorker(at)
    const { redirectURI: redirect, issuer, clientId: id, scopes } = signIn
    const secret = signIn.clientSecret && secretText(signIn.clientSecret, ctx, [...at, 'clientSecret'])
    const settings = {
      target,
      redirect,
      issuer,
      scopes,
      client: id === undefined ? undefined : { id, secret },
      tls: optionalTls(signIn.backendTLS, [...at, 'backendTLS'], ctx),
    }
    for (const parameter of ['ticket', 'state']) ctx.hides({ queryParameter: { name: parameter } })
    const users: Made = ctx.serving(
      () => import('../serving.ts'),
      ({ SignInState, TargetUsers: Class }) => {
        const state = ctx.movingState(`sign-ins at ${name}`, () => new SignInState(ctx.runtime.clock))
        return new Class(settings, state, ctx.runtime)
      },
    )
    this.#made.push({ redirect, users })
    return {
      target: { ...target, send: (...call) => users.part.send(...call) },
      users: { has: x => users.part.has(x), needOf: x => users.part.needOf(x) },
    }
  }

  /** Called once everything is loaded. */
  pages({ SignInPages: Class }: typeof ServingParts): readonly SignInPages[] {
    const groups = Map.groupBy(this.#made, ({ redirect }) => redirect.href)
    return [...groups.values()].map(
      group =>
        new Class(
          group[0]!.redirect,
          group.map(({ users }) => users.part),
          this.#ctx.runtime,
        ),
    )
  }

  /** After a reload; a gateway that starts with such a file has one worker. */
  #checkWorker(path: (string | number)[]): void {
    const { runtime } = this.#ctx
    if (runtime.worker.count === 1) return
    this.#ctx.report({
      code: 'GW601',
      message: '`signIn` is not served by several workers: each would have its own tokens',
      path,
      at: 'key',
      label: 'this gateway runs several',
      help: 'restart it, which serves this file with one',
    })
  }

  #checkAlone(path: (string | number)[], { authenticated }: HttpTarget): void {
    if (!authenticated) return
    this.#ctx.report({
      code: 'GW111',
      message: '`signIn` cannot be combined with `backendAuth`',
      path,
      at: 'key',
      label: 'the token of the user is the credential',
      help: 'remove `backendAuth` of this target, or `signIn`',
    })
  }
}
