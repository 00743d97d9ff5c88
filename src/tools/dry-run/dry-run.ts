import { setImmediate } from 'node:timers/promises'
import { createCelCompiler } from '../../cel/compiler.ts'
import type { Loaded } from '../../config/load.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { handle } from '../../engine/handle.ts'
import { HeadSnapshots } from '../../engine/head-snapshot.ts'
import { newPassage, type Serving } from '../../engine/passage.ts'
import { runDone } from '../../engine/pipeline.ts'
import { routeTables } from '../../engine/route-table.ts'
import { TraceHub } from '../../engine/trace-hub.ts'
import { callWhole } from '../../engine/upstream/call.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { Runtime } from '../../http/runtime.ts'
import type { TraceEvent } from '../../http/trace-event.ts'
import type { Target } from '../../http/transport.ts'
import { holdsResources, loadInput, type RunOptions } from '../check-documents.ts'
import type { InputPlace, InputText } from '../input-files.ts'
import { readServed } from '../serve/served-input.ts'
import { BackendNames } from './backend-names.ts'
import { DryClock } from './dry-clock.ts'
import { bindOf, type DryRequest, exchangeOf } from './dry-request.ts'
import { FreshState } from './fresh-state.ts'
import { memoryDownstream } from './memory-downstream.ts'
import type { DryCall, DryOutcome } from './outcome.ts'
import { seededRandom } from './seeded-random.ts'
import { StandInCredentials } from './stand-in-credentials.ts'
import { type StubCall, type StubReply, stubTransport } from './stub-transport.ts'
import { type Answered, StubSet, type Stubs } from './stubs.ts'
import { untilQuiet } from './until-quiet.ts'

export type { DryRequest } from './dry-request.ts'
export type { DryCall, DryOutcome } from './outcome.ts'
export type { Stub, Stubs } from './stubs.ts'

export interface DryWorld {
  /** ms since the epoch, at the beginning; now when unset. */
  readonly time?: number
  /** For weighted choices; 1 when unset. */
  readonly seed?: number
  readonly stubs?: Stubs
}

export interface DryOptions extends DryWorld, Partial<Pick<RunOptions, 'tier' | 'readReferenced'>> {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A configuration through which requests run without a socket, one at a time. */
export interface DryGateway {
  readonly snapshot: Snapshot
  /** Stands still between requests. */
  readonly clock: DryClock
  /** Throws a Failure where the configuration opens no port that the request could come in at. */
  run(request: DryRequest): Promise<DryOutcome>
  /** As it was at the beginning: budgets, sessions and health are forgotten. `stubs` replace those there were. */
  reset(stubs?: Stubs): void
}

/**
 * Compiles what `run -f PATH` would serve: a file, a directory of resources, or stdin for `-`. Nothing is opened and
 * nobody is called. Throws a Failure `input` when it cannot be read or served.
 */
export async function openDryGateway(path: string, options: DryOptions & InputPlace): Promise<DryGateway> {
  const { loaded, gateway } = await loadDryGateway(await readServed(path, options), options)
  if (gateway) return gateway
  const first = loaded.diagnostics.find(({ severity }) => severity === 'error')
  throw new Failure('input', `${path} cannot be served: ${first?.message ?? 'it has findings'}.`, {
    help: `See gwctl validate ${path}`,
  })
}

export interface DryLoaded {
  readonly loaded: Loaded
  /** Undefined: `loaded.diagnostics` say why it cannot be served. */
  readonly gateway: DryGateway | undefined
}

/** The same for texts that have been read: one standalone file, or any number of files of resources. */
export async function loadDryGateway(texts: readonly InputText[], options: DryOptions): Promise<DryLoaded> {
  const world = new World(options)
  const { cwd, env, tier = 'env', readReferenced } = options
  const load = { cwd, env, tier, ...(readReferenced === undefined ? {} : { readReferenced }) }
  const resources = texts.length > 1 && texts.every(holdsResources)
  const loaded = resources
    ? (await (await import('../translate.ts')).loadResources(texts, load, world.runtime)).loaded
    : await loadInput(texts[0] as InputText, load, world.runtime)
  const { snapshot, runnable } = loaded
  return { loaded, gateway: snapshot && runnable ? gatewayOf(snapshot, world) : undefined }
}

function gatewayOf(snapshot: Snapshot, world: World): DryGateway {
  const heads = new HeadSnapshots(snapshot.credentials, snapshot.settings.sensitiveHeaders)
  const serving: Serving = { snapshot, tables: routeTables(snapshot), heads }
  const names = new BackendNames(serving)
  let lastId = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    snapshot,
    clock: world.clock,
    run(request) {
      const run = last.then(() => runOnce(String(++lastId), request, { serving, names }, world))
      last = run.catch(() => {})
      return run
    },
    reset: stubs => {
      lastId = 0
      world.reset(stubs)
    },
  }
}

/** All that a dry run has in place of the world outside. */
class World {
  readonly clock: DryClock
  readonly runtime: Runtime
  readonly credentials: StandInCredentials
  readonly hub: TraceHub
  readonly #state = new FreshState()
  readonly #seed: number
  #random: () => number
  #stubs: Stubs
  #set: StubSet
  /** Told of each call, while a request runs. */
  onCall: (purpose: DryCall['purpose'], call: StubCall, answer: (names: readonly string[]) => Answered) => StubReply

  constructor({ time = Date.now(), seed = 1, stubs = new Map() }: DryWorld) {
    this.clock = new DryClock(time)
    this.credentials = new StandInCredentials(this.clock)
    this.hub = new TraceHub({ clock: this.clock, cel: createCelCompiler(), worker: 0 })
    this.#seed = seed
    this.#random = seededRandom(seed)
    this.#stubs = stubs
    this.#set = new StubSet(stubs)
    this.onCall = unwatched
    const transportFor = (purpose: DryCall['purpose']) =>
      stubTransport(this.clock, call => this.onCall(purpose, call, names => this.#set.answer(call, names)))
    const own = transportFor('service')
    this.runtime = {
      ...offlineRuntime(),
      clock: this.clock,
      random: () => this.#random(),
      state: this.#state,
      standIns: this.credentials,
      transport: transportFor('backend'),
      call: (target, request, limit) => callWhole(own, this.clock, target, request, limit),
    }
  }

  reset(stubs: Stubs = this.#stubs): void {
    this.onCall = unwatched
    this.#state.forget()
    this.clock.reset()
    this.#random = seededRandom(this.#seed)
    this.#stubs = stubs
    this.#set = new StubSet(stubs)
  }
}

/** Sessions take their leave when they are forgotten. */
const unwatched: World['onCall'] = (_purpose, { target }, answer) => answer(addressesOf(target)).reply

interface Compiled {
  readonly serving: Serving
  readonly names: BackendNames
}

async function runOnce(
  id: string,
  request: DryRequest,
  { serving, names: written }: Compiled,
  world: World,
): Promise<DryOutcome> {
  const { runtime, clock } = world
  const x = exchangeOf(id, request, serving, clock)
  world.credentials.calls(x, request)
  const calls: DryCall[] = []
  world.onCall = (purpose, call, answer) => {
    const own = purpose === 'backend' && written.owns(x, call.target)
    const names = own ? namesOf(call.target, x) : addressesOf(call.target)
    const answered = answer(names)
    calls.push(callOf(own ? 'backend' : 'service', names, call, answered, serving.heads))
    return answered.reply
  }
  const events: TraceEvent[] = []
  const watch = world.hub.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('a hub of its own has room for one watcher')
  watch.onEvent = () => {
    for (let event = watch.next(); event !== undefined; event = watch.next()) events.push(event)
  }
  x.trace = world.hub.start(x, serving.heads)
  const passage = newPassage()
  const out = memoryDownstream()
  // A call that is given up, as at a deadline, never comes back; what follows an answer is done in the same turn.
  const answered = untilQuiet(out).then(() => setImmediate())
  await Promise.race([handle(x, bindOf(x, serving), serving, out, passage, runtime), answered])
  await answered
  if (out.state !== 'ended') x.abort()
  passage.deadline?.cancel()
  x.endedMono = clock.mono()
  x.responseBytes = out.body.length
  for (const pipeline of [passage.backend?.pipeline, passage.route, passage.listener]) runDone(pipeline, x)
  traceEnd(x)
  watch.close()
  const { response } = x
  return {
    events,
    status: response?.status,
    headers: response ? pairsOf(response.headers) : [],
    shown: response && serving.heads.response(response),
    body: out.body,
    upstream: calls,
    listener: x.listener?.key,
    route: x.route?.key,
    backend: x.backend?.name,
    backends: namesOfBackend(calls, x, written),
    error: x.error,
    reason: x.reason,
    llm: x.llm && { ...x.llm },
    mcp: x.mcp && { ...x.mcp },
    guards: x.guardChecks ?? [],
    duration: clock.mono() - x.startedMono,
  }
}

function traceEnd(x: Exchange): void {
  const { error, reason, responseBytes } = x
  const status = x.response?.status ?? null
  x.trace?.emit({
    type: 'requestFinished',
    status,
    ...(error === undefined ? {} : { error }),
    reason,
    bytes: responseBytes,
  })
}

function callOf(
  purpose: DryCall['purpose'],
  names: readonly string[],
  { target, method, path, authority, headers, body }: StubCall,
  { reply, stub }: Answered,
  heads: HeadSnapshots,
): DryCall {
  const scheme = target.tls ? 'https' : 'http'
  const sent = headers.copy()
  sent.set('host', authority)
  return {
    purpose,
    names,
    method,
    url: `${scheme}://${authority}${path}`,
    headers: pairsOf(sent),
    shown: heads.request({ method, scheme, authority, path, headers: sent }),
    body,
    stub,
    status: reply.unreachable ? undefined : reply.status,
  }
}

function namesOf(target: Target, x: Exchange): readonly string[] {
  const part = target.part?.names.filter(name => name !== ANY_MODEL) ?? []
  const llm = target.part?.kind === 'llm' && x.llm ? [x.llm.requestModel, x.llm.provider] : []
  const own = x.backend ? [x.backend.name] : []
  // Where the file gives no name, the address says more than the place in the file.
  const named = x.backend?.name === x.backend?.key ? [...addressesOf(target), ...own] : [...own, ...addressesOf(target)]
  return [...new Set([...part, ...llm, ...named])]
}

/** The name of a model that stands for all. */
const ANY_MODEL = '*'

function addressesOf({ host, port, unixPath }: Target): readonly string[] {
  return unixPath === undefined ? [`${host}:${port}`, host] : [unixPath]
}

function namesOfBackend(calls: readonly DryCall[], x: Exchange, written: BackendNames): readonly string[] {
  const called = calls.filter(({ purpose }) => purpose === 'backend').flatMap(({ names }) => names)
  return [...new Set([...called, ...written.of(x)])]
}

function pairsOf({ raw }: HeaderList): (readonly [string, string])[] {
  const out: (readonly [string, string])[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) out.push([raw[i] as string, raw[i + 1] as string])
  return out
}
