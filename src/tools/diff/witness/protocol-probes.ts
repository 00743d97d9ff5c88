import { policyNamed } from '../../../policies/index.ts'
import type { DumpDocument, DumpRoute } from '../../config-dump/model.ts'
import { conditionsOf, type Specs } from './policy-probes.ts'
import { elsewhere, type Probe, withHeaders } from './probe.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const MAX_MODELS = 20
const MAX_TOOLS = 20

/**
 * Requests in the protocol of a route's backends: a prompt for each model, a tour of the tools. `tools`: those named in
 * rules.
 */
export function protocolProbes(
  probe: Probe,
  dump: DumpDocument,
  route: DumpRoute,
  { specs, tools }: { readonly specs: Specs; readonly tools: readonly string[] },
): Probe[] {
  const kinds = new Set(
    route.backends.flatMap(use => dump.backends.find(({ key }) => key === use.backend)?.protocol ?? []),
  )
  return [
    ...(kinds.has('llm') ? modelsOf(dump, specs).flatMap(model => chatProbes(probe, model)) : []),
    ...(kinds.has('mcp') ? mcpProbes(probe, tools) : []),
  ]
}

function modelsOf(dump: DumpDocument, specs: Specs): string[] {
  const named = (dump.models ?? []).map(({ name }) => String(name).replace('*', 'some'))
  const used = (specs.get('') ?? []).flatMap(spec =>
    [...JSON.stringify(spec ?? null).matchAll(/"model":"([^"]+)"/g)].map(([, name]) => name as string),
  )
  return [...new Set([...named, ...used, 'some-model'])].slice(0, MAX_MODELS)
}

function chatProbes(probe: Probe, model: string): Probe[] {
  const { pathname } = new URL(probe.request.url)
  const api = `${pathname.replace(/\/$/, '')}/v1/chat/completions`
  const paths = pathname === '/' ? [api] : [api, pathname]
  const body = Buffer.from(JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }))
  return paths.map(path => {
    const url = elsewhere(probe.request.url, { pathname: path })
    const headers = withHeaders(probe.request.headers, JSON_TYPE)
    return {
      ...probe,
      request: { ...probe.request, method: 'POST', url, headers, body },
      words: [...probe.words, `model ${model}`],
    }
  })
}

/** The tools that the rules of a route name. */
export function toolsNamedBy(specs: Specs): string[] {
  const rules = [...specs].flatMap(([name, each]) => (policyNamed.get(name)?.perItem ? each : []))
  return conditionsOf(rules).flatMap(({ holds }) => holds.tool ?? [])
}

/** The tools named in rules exist, along with one that none of them names. */
function mcpProbes(probe: Probe, named: readonly string[]): Probe[] {
  // In a fixed order: what both sides ask alike is run once.
  const tools = [...new Set(['some_tool', ...named])].slice(0, MAX_TOOLS).sort()
  return [
    mcpProbe(probe, { tools }, 'tools/list', {}, 'tools/list'),
    ...tools.map(name => mcpProbe(probe, { tools }, 'tools/call', { name, arguments: {} }, `tools/call ${name}`)),
  ]
}

function mcpProbe(probe: Probe, mcp: Probe['mcp'], method: string, params: object, words: string): Probe {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 2, method, params }))
  const headers = withHeaders(probe.request.headers, { ...JSON_TYPE, accept: 'application/json, text/event-stream' })
  const request = { ...probe.request, method: 'POST', headers, body }
  return { ...probe, request, words: [...probe.words, words], ...(mcp === undefined ? {} : { mcp }) }
}
