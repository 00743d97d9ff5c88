import { relative, resolve } from 'node:path'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { fieldOf } from '../dry-run/dry-request.ts'
import type { Stub } from '../dry-run/dry-run.ts'
import type { TestCase, TestFile, TestRequest, TestStub } from '../test-file/test-file.ts'
import type { Run } from './explain-request.ts'
import type { Explanation } from './explanation.ts'

export interface TestCasePlace {
  /** The configuration as given. */
  readonly config: string
  readonly cwd: string
  /** The folder of the test file. */
  readonly folder: string
  readonly stubs: ReadonlyMap<string, Stub>
}

type Written<T> = { readonly [K in keyof T]?: unknown }

/**
 * The request and its outcome as a file for `gwctl test`. Credentials of the request are omitted, except stand-ins
 * given by flags.
 */
export function testFileText(explanation: Explanation, run: Run, place: TestCasePlace): string {
  const { time, seed, verdict, status, reason } = explanation
  const route = explanation.routes.at(-1)?.name
  const called = verdict === 'reached' || verdict === 'failed'
  const [backend] = explanation.backends
  const file: Written<TestFile> = {
    ...(place.config === '-' ? {} : { config: relative(place.folder, resolve(place.cwd, place.config)) }),
    time,
    ...(seed === 1 ? {} : { seed }),
    ...(place.stubs.size === 0 ? {} : { stubs: Object.fromEntries([...place.stubs].map(stubEntry)) }),
    cases: [
      {
        name: `${explanation.request.method} ${pathOf(addressOf(run.request.url, explanation.request.url))} ${status === null ? 'gets no answer' : `answers ${status}`}`,
        request: requestOf(explanation, run),
        expect: {
          ...(status === null ? {} : { status }),
          reason,
          ...(route ? { route } : {}),
          ...(called && backend ? { backend: backend.name } : {}),
        },
      } satisfies Written<TestCase>,
    ],
  }
  return printYaml(file)
}

/** Headers and parameters with hidden values, which the test case has to omit. */
export function leftOut({ request }: Explanation): readonly string[] {
  const parameters = parametersOf(request.url).filter(isHidden)
  const fields = request.headers.flatMap(([name, value]) => (value === REDACTED ? [name] : []))
  return [...fields, ...parameters.map(pair => decodeURIComponent(pair.slice(0, -REDACTED.length - 1)))]
}

const REDACTED = '<redacted>'

function parametersOf(url = ''): readonly string[] {
  return url.includes('?') ? url.slice(url.indexOf('?') + 1).split('&') : []
}

function isHidden(parameter: string): boolean {
  return parameter.endsWith(`=${REDACTED}`)
}

/** The address as given, without parameters that have hidden values. */
function addressOf(url: string, shown: string | undefined): string {
  const parameters = parametersOf(shown)
  if (!parameters.some(isHidden)) return url
  const kept = parameters.filter(each => !isHidden(each)).join('&')
  return `${url.split('?', 1)[0]}${kept === '' ? '' : `?${kept}`}`
}

function requestOf({ request: shown }: Explanation, { request, opensSession }: Run): Written<TestRequest> {
  const { method, jwt, apiKey, source, sni } = request
  const url = addressOf(request.url, shown.url)
  const call = opensSession ? messageIn(request.body) : undefined
  const body = request.body?.toString()
  const given = fieldOf(request.headers, 'host') !== undefined
  const own = new Set([...(given ? [] : ['host']), 'content-length', ...(call ? SESSION_FIELDS : [])])
  const fields = shown.headers.filter(([name, value]) => value !== REDACTED && !own.has(name.toLowerCase()))
  const headers = Object.fromEntries(
    [...Map.groupBy(fields, ([name]) => name.toLowerCase())].map(([name, all]) => {
      return [name, all.length === 1 ? all[0]?.[1] : all.map(([, value]) => value)]
    }),
  )
  return {
    ...(call ? { mcp: call.method, ...(call.params === undefined ? {} : { params: call.params }) } : { method }),
    ...(url.startsWith('/') ? { path: url } : { url }),
    ...(fields.length === 0 ? {} : { headers }),
    ...(call || body === undefined ? {} : { body }),
    ...(jwt === undefined ? {} : { jwt }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(source === undefined ? {} : { source }),
    ...(sni === undefined ? {} : { sni }),
  }
}

/** `gwctl test` adds these by itself to MCP methods. */
const SESSION_FIELDS: readonly string[] = ['content-type', 'accept', 'mcp-session-id']

function messageIn(body: Buffer | undefined): { readonly method: unknown; readonly params?: unknown } | undefined {
  try {
    const message = JSON.parse(body?.toString() ?? '') as { readonly method: unknown; readonly params?: unknown }
    return typeof message.method === 'string' ? message : undefined
  } catch {
    return undefined
  }
}

function stubEntry([name, { status, body, unreachable }]: readonly [string, Stub]): [string, Written<TestStub>] {
  if (unreachable) return [name, { unreachable }]
  return [name, { ...(status === undefined ? {} : { status }), ...(body === undefined ? {} : { body: String(body) }) }]
}

function pathOf(url: string): string {
  return url.startsWith('/') ? url : new URL(url).pathname
}
