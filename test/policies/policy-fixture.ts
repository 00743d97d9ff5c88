import { randomUUID } from 'node:crypto'
import type { WholeReply } from '../../src/calls/dispatch.ts'
import type { BodyHook } from '../../src/calls/step.ts'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { createPatternCompiler } from '../../src/cel/pattern.ts'
import type { Finding, Path } from '../../src/diagnostics/diagnostic.ts'
import { BodyMemory } from '../../src/http/body-memory.ts'
import { GatewayError } from '../../src/http/errors.ts'
import { bodyOf, Exchange, type Reply } from '../../src/http/exchange.ts'
import { HeaderList } from '../../src/http/headers.ts'
import { pathNormalizer, SAFE_PATHS } from '../../src/http/path-normalization.ts'
import type { Target, UpstreamRequest } from '../../src/http/transport.ts'
import type { CompileContext, Hooks, Policy } from '../../src/policies/policy.ts'
import type { Clock, Runtime } from '../../src/runtime/runtime.ts'
import { decode, INVALID } from '../../src/schema/decode.ts'
import { loaded, serving } from '../helpers/serving.ts'

const cel = createCelCompiler()
const patterns = createPatternCompiler()

/** Time that passes only when a test says so. */
export class FakeClock implements Clock {
  #now = Date.UTC(2026, 0, 15, 12, 0, 0)
  #mono = 5000
  readonly #waiting = new Set<{ at: number; then: () => void }>()

  now(): number {
    return this.#now
  }
  mono(): number {
    return this.#mono
  }
  after(ms: number, then: () => void) {
    const entry = { at: this.#mono + ms, then }
    this.#waiting.add(entry)
    return { cancel: () => void this.#waiting.delete(entry) }
  }
  get pending(): number {
    return this.#waiting.size
  }
  advance(ms: number): void {
    this.#now += ms
    this.#mono += ms
    for (const entry of [...this.#waiting]) {
      if (entry.at > this.#mono) continue
      this.#waiting.delete(entry)
      entry.then()
    }
  }
}

export interface World {
  readonly clock: FakeClock
  readonly runtime: Runtime
  readonly logged: string[]
  /** What calls are answered with, and what was asked. */
  answer: (request: UpstreamRequest, target: Target) => WholeReply
  readonly calls: string[]
}

export function createWorld(): World {
  const clock = new FakeClock()
  const held = new Map<string, object>()
  const world: World = {
    clock,
    logged: [],
    calls: [],
    answer: () => {
      throw new GatewayError('upstreamFailed')
    },
    runtime: {
      clock,
      random: () => 0.5,
      uuid: randomUUID,
      transport: {
        dispatch(target, request, on) {
          world.calls.push(
            `${request.method} ${target.tls ? 'https' : 'http'}://${target.host}:${target.port}${request.path}`,
          )
          queueMicrotask(() => {
            try {
              const { status, headers, body } = world.answer(request, target)
              const sink = on.head(status, headers)
              sink.write(body)
              sink.end()
            } catch (error) {
              on.fail(error as Error)
            }
          })
          return { cancel() {} }
        },
        close: async () => {},
      },
      state: {
        get<T extends object>(key: string, make: () => T): T {
          if (!held.has(key)) held.set(key, make())
          return held.get(key) as T
        },
        memory(key, bytes) {
          if (!held.has(key)) held.set(key, new ArrayBuffer(bytes))
          return held.get(key) as ArrayBuffer
        },
      } as Runtime['state'],
      log: {
        log: (level, message, fields) => void world.logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
        child: () => world.runtime.log,
      },
      bodies: new BodyMemory(),
      worker: { index: 0, count: 1 },
    } as Runtime,
  }
  return world
}

export interface Compiled {
  readonly hooks: Hooks
  readonly findings: readonly string[]
}

/** Decodes a spec as the file would hold it and compiles it; `findings` are `CODE at.path message`. */
export function compile<S>(
  policy: Policy<string, S>,
  value: unknown,
  world: World = createWorld(),
  files: Readonly<Record<string, string>> = {},
): Compiled {
  const findings: string[] = []
  const report = (f: Omit<Finding, 'path'> & { readonly path: Path }) =>
    void findings.push(`${f.code} ${f.path.join('.')} ${f.message}`)
  const spec = decode(policy.schema, value, [], { report, paths: new WeakMap(), cel, patterns, missing: new Set() })
  if (spec === INVALID) return { hooks: {}, findings }
  const origin = { file: 'config.yaml', line: 1, col: 1 }
  const ctx: CompileContext = {
    identity: 'test',
    origin,
    runtime: world.runtime,
    limits: { maxBuffer: 2_097_152, paths: pathNormalizer(SAFE_PATHS) },
    hides: () => {},
    env: {},
    report,
    originOf: () => origin,
    readFile: file => (files[file] === undefined ? undefined : Buffer.from(files[file])),
    state: (name, make) => world.runtime.state.get(`test#${name}`, make),
    serving,
    memory: (name, bytes) => world.runtime.state.memory(`test#${name}`, bytes),
  }
  return { hooks: policy.compile(spec, ctx), findings }
}

/** The hooks of a spec that must be right. */
export function hooksOf<S>(policy: Policy<string, S>, value: unknown, world?: World): Hooks {
  const { hooks, findings } = compile(policy, value, world)
  if (findings.length > 0) throw new Error(findings.join('\n'))
  return hooks
}

export interface Given {
  readonly method?: string
  readonly scheme?: 'http' | 'https'
  readonly authority?: string
  readonly path?: string
  /** Name, value, name, value. */
  readonly headers?: readonly string[]
  readonly body?: string
  readonly matchedPrefix?: string
}

export function exchange(given: Given = {}): Exchange {
  const x = new Exchange({
    id: 'r1',
    connection: { id: 1, address: '10.1.2.3', port: 51000, localPort: 8080 },
    startedAt: Date.UTC(2026, 0, 15, 12, 0, 0),
    startedMono: 5000,
    httpVersion: '1.1',
    request: {
      method: given.method ?? 'GET',
      scheme: given.scheme ?? 'http',
      authority: given.authority ?? 'api.example.com',
      path: given.path ?? '/',
      headers: new HeaderList(given.headers ?? []),
    },
    body: bodyOf(given.body === undefined ? undefined : Buffer.from(given.body)),
  })
  x.matchedPrefix = given.matchedPrefix
  return x
}

/** Runs the request hook: its reply, or what it threw as `status: message`, or `passed`. */
export async function run(hooks: Hooks, x: Exchange): Promise<Reply | string> {
  await loaded()
  try {
    return (await hooks.request?.(x)) ?? 'passed'
  } catch (error) {
    if (error instanceof GatewayError) return `${error.status}: ${error.message}`
    throw error
  }
}

/** A reply has come; runs the response hook and gives what the client would get of the body. */
export async function respond(hooks: Hooks, x: Exchange, status: number, headers: readonly string[], body = '') {
  x.response = { status, headers: new HeaderList(headers) }
  await hooks.response?.(x)
  const hook = hooks.responseBody?.(x) as BodyHook | undefined
  if (!hook) return body
  const out = [hook.chunk(Buffer.from(body)), hook.end()].filter(chunk => chunk !== undefined)
  return Buffer.concat(out).toString()
}

/** Header fields as `name: value`, lower case names. */
export function fields(raw: readonly string[]): string[] {
  return raw.flatMap((name, i) => (i % 2 === 0 ? [`${name.toLowerCase()}: ${raw[i + 1]}`] : []))
}
