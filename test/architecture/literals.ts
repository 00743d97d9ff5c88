import { isNode, type SourceFile, type SyntaxNode } from './source-files.ts'
import type { Violation } from './violation.ts'

/** Names that one place knows, and where else they may stand, with the reason. */
export interface Vocabulary {
  readonly names: ReadonlySet<string>
  /** Path prefixes. */
  readonly home: readonly string[]
  /** Names of fields, written and read, count as literals do. */
  readonly fields?: true
  readonly elsewhere: Readonly<Record<string, string>>
  readonly message: string
}

/** Common words, names of header fields, of variables and of trace events: as literals they say nothing about a policy. */
const COMMON_WORDS = [
  'a2a',
  'ai',
  'apiKey',
  'authorization',
  'basicAuth',
  'buffer',
  'connect',
  'delay',
  'health',
  'http',
  'retry',
  'tcp',
  'timeout',
  'tls',
]

/** A policy is stated in its own folder: what others have to know about it are fields of its declaration. */
export function policyNames(names: readonly string[]): Vocabulary {
  return {
    names: new Set(names.filter(name => !COMMON_WORDS.includes(name))),
    home: ['src/policies/'],
    elsewhere: {
      'src/backends/ai/llm-schema.ts': 'fields of a model that are policies of its calls',
      'src/backends/mcp/index.ts': 'what of it is not served on an MCP target',
      'src/backends/mcp/sign-in/sign-ins.ts': 'the field for the TLS of an authorization server has its name',
      'src/cel/': 'variables of expressions, some of which are called like the policy that sets them',
      'src/cluster/kinds/grpc-route.ts': 'filters, in the words of the Gateway API',
      'src/cluster/kinds/http-route.ts': 'filters, in the words of the Gateway API',
      'src/cluster/kinds/parts/frontend.ts': 'members that hold for one listener',
      'src/cluster/kinds/parts/members.ts': 'the order of members',
      'src/cluster/translate/members/filters.ts': 'filters of routes, each of which becomes one policy',
      'src/cluster/translate/members/gateway-certificate.ts': 'what a Gateway adds to a BackendTLSPolicy',
      'src/cluster/translate/members/tls-policies.ts': 'BackendTLSPolicy is a resource of its own',
      'src/cluster/translate/prune.ts': 'fields of a model that can be left out',
      'src/config/compile-backends.ts': 'what of it is not served on some kinds of backends',
      'src/config/compile-telemetry.ts': 'older fields of `config` that say the same as a policy',
      'src/config/standalone/llm-section.ts': 'fields of a model that are policies of its calls',
      'src/config/lints/': 'a lint is about the policies that it names',
      'src/schema/meant.ts': 'what other systems call them, for suggestions',
      'src/config/targeted-policies.ts': 'mirrors follow backends by reference only',
    },
    message: 'names a policy: declare what is asked of it in src/policies/policy.ts',
  }
}

/** Fields of LLM bodies that one format alone has. */
export const WIRE_FIELDS: Vocabulary = {
  names: new Set([
    'cache_control',
    'candidatesTokenCount',
    'completion_tokens',
    'content_block_delta',
    'finishReason',
    'finish_reason',
    'functionCall',
    'functionDeclarations',
    'generationConfig',
    'inferenceConfig',
    'max_output_tokens',
    'message_delta',
    'parallel_tool_calls',
    'previous_response_id',
    'promptTokenCount',
    'prompt_tokens',
    'stopReason',
    'stop_reason',
    'systemInstruction',
    'tool_call_id',
    'toolConfig',
    'toolUse',
    'tool_use_id',
    'usageMetadata',
  ]),
  home: ['src/llm/formats/'],
  fields: true,
  elsewhere: {
    'src/tools/dry-run/stub-llm.ts': 'plays a provider whose client is the codec',
    'src/tools/test/spoken.ts': 'reads what a client has got, whichever codec wrote it',
  },
  message: 'is a field of one wire format: its codec in src/llm/formats knows it',
}

/** Literals and field names of a vocabulary outside its home. */
export function checkLiterals(files: readonly SourceFile[], vocabulary: Vocabulary): Violation[] {
  const { names, home, message } = vocabulary
  const places = [...home, ...Object.keys(vocabulary.elsewhere)]
  return files
    .filter(({ path }) => !places.some(place => path.startsWith(place)))
    .flatMap(file => {
      const types = new Set(file.nodes.filter(isOfType).flatMap(({ literal }) => (isNode(literal) ? [literal] : [])))
      const codes = new Set(file.nodes.flatMap(errorCodeOf))
      return file.nodes
        .filter(node => !types.has(node) && !codes.has(node))
        .flatMap(node => {
          const name = literalOf(node) ?? (vocabulary.fields ? fieldOf(node) : undefined)
          return name !== undefined && names.has(name)
            ? [{ path: file.path, line: node.loc.start.line, message: `\`${name}\` ${message}` }]
            : []
        })
    })
}

function literalOf(node: SyntaxNode): string | undefined {
  return node.type === 'StringLiteral' ? String(node.value) : undefined
}

function fieldOf({ type, key, property, computed }: SyntaxNode): string | undefined {
  const field = type === 'ObjectProperty' ? key : type === 'MemberExpression' ? property : undefined
  return computed !== true && isNode(field) && field.type === 'Identifier' ? String(field.name) : undefined
}

/** `Policies['cors']` is checked by the compiler. */
function isOfType({ type }: SyntaxNode): boolean {
  return type === 'TSLiteralType'
}

/** Errors are coded by what has refused; their table is closed. */
function errorCodeOf(node: SyntaxNode): SyntaxNode[] {
  if (node.type !== 'NewExpression' || !isNode(node.callee) || node.callee.name !== 'GatewayError') return []
  return Array.isArray(node.arguments) ? node.arguments.filter(isNode).slice(0, 1) : []
}
