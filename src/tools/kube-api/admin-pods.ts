import { Agent } from 'node:http'
import type { Duplex } from 'node:stream'
import { Failure } from '../../diagnostics/failure.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import type { AdminServer } from '../admin/admin-client.ts'
import type { Waiting } from '../admin/waiting.ts'
import { ApiClient, type ClientOptions } from './api-client.ts'
import { type FoundPods, findPods, type Pod } from './find-pods.ts'
import { type ClusterChoice, type ClusterPlace, findContext } from './kubeconfig.ts'
import { parseTarget } from './pod-target.ts'
import { forwardPort } from './port-forward.ts'

/** Which admin servers to query, from the flags. */
export interface PodsRequest extends ClusterChoice {
  /** `[TYPE/]NAME[.NS]`; empty for the only Gateway of the namespace. */
  readonly target: string
  /** That of the context when unset. */
  readonly namespace?: string
  /** A specific pod. */
  readonly pod?: string
  /** The admin server's port in the pod. */
  readonly port: number
  /** Idle timeout of it and of the API server in between, in ms. */
  readonly patience?: number
  /** How long to wait for a running pod; unset not to wait. */
  readonly waiting?: Waiting
}

export interface PodsTold extends Partial<ClientOptions> {
  note(text: string): void
}

/**
 * The admin server of one pod: the given one, or the first that is ready, which is reported. If that one goes away, the
 * next connection goes to the one that is first then. Throws a Failure.
 */
export async function adminPod(request: PodsRequest, place: ClusterPlace, told: PodsTold): Promise<AdminServer> {
  const { client, found, target } = await reach(request, place, told)
  const pod = request.pod === undefined ? found.pods[0]! : podNamed(request.pod, found)
  told.note(choiceOf(pod, found, request))
  const others = async () => (request.pod === undefined ? (await findPods(client, target)).pods : [])
  return new PodServer(pod, request, client, others)
}

/** The admin servers of all running pods. Throws a Failure. */
export async function adminPods(request: PodsRequest, place: ClusterPlace): Promise<readonly AdminServer[]> {
  const { client, found } = await reach(request, place, {})
  return found.pods.map(pod => new PodServer(pod, request, client, async () => []))
}

async function reach(request: PodsRequest, place: ClusterPlace, options: Partial<ClientOptions>) {
  const { patience } = request
  const limits = { ...(patience === undefined ? {} : { timeout: patience }), ...options }
  const client = new ApiClient(await findContext(request, place), limits)
  const target = parseTarget(request.target, request.namespace, client.namespace)
  return { client, target, found: await findPods(client, target, request.waiting) }
}

function podNamed(name: string, { of, pods }: FoundPods): Pod {
  const pod = pods.find(each => each.name === name)
  if (pod) return pod
  const names = pods.map(each => each.name)
  const guess = didYouMean(name, names)
  throw new Failure('unreachable', `${of} has no running pod ${name}${guess === undefined ? '.' : `: ${guess}`}`, {
    help: `It has: ${names.join(', ')}.`,
  })
}

function choiceOf(pod: Pod, { of, pods }: FoundPods, { pod: named }: PodsRequest): string {
  const ready = pods.filter(each => each.ready).length
  const state = pod.ready ? '' : ', which is not ready'
  if (named !== undefined || pods.length === 1) return `Asking pod ${pod.namespace}/${pod.name} of ${of}${state}.`
  return `Asking pod ${pod.namespace}/${pod.name}${state}, one of ${pods.length} of ${of} (${ready} ready); --pod names another.`
}

class PodServer implements AdminServer {
  /** The admin server's own name: it accepts no other. */
  readonly url: URL
  readonly host = undefined
  readonly agent: Agent
  readonly help: string
  readonly patience?: number
  readonly #client: ApiClient
  readonly #port: number
  #pod: Pod

  /** `others`: resolves the pods that may replace it if it does not answer. */
  constructor(
    pod: Pod,
    { port, patience }: Pick<PodsRequest, 'port' | 'patience'>,
    client: ApiClient,
    others: () => Promise<readonly Pod[]>,
  ) {
    this.#pod = pod
    this.#client = client
    this.#port = port
    this.url = new URL(`http://127.0.0.1:${port}`)
    this.agent = new ForwardingAgent(() => this.#dial(others))
    this.help = `Is port ${port} the one of its admin server? Name another one with --admin-port.`
    if (patience !== undefined) this.patience = patience
  }

  get name(): string {
    return `pod ${this.pod}`
  }

  get pod(): string {
    return `${this.#pod.namespace}/${this.#pod.name}`
  }

  /** A rollout replaces pods; one that still exists is not given up for another. */
  async #dial(others: () => Promise<readonly Pod[]>): Promise<Duplex> {
    try {
      return await this.#forward()
    } catch (error) {
      const pods = await others().catch(() => [])
      const [next] = pods
      if (next === undefined || pods.some(({ name }) => name === this.#pod.name)) throw error
      this.#pod = next
      return this.#forward()
    }
  }

  #forward(): Promise<Duplex> {
    const { namespace, name } = this.#pod
    return forwardPort(this.#client, { namespace, pod: name, port: this.#port })
  }
}

/** Every connection is forwarded separately through the API server. */
class ForwardingAgent extends Agent {
  readonly #dial: () => Promise<Duplex>

  constructor(dial: () => Promise<Duplex>) {
    super({ keepAlive: false })
    this.#dial = dial
  }

  override createConnection(_options: unknown, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    this.#dial().then(
      stream => callback?.(null, stream),
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    )
  }
}
