// Do requests have the shape that the provider publishes? Each is written down as a constant of the type that the
// provider's own package declares for it, and the compiler says what is missing, misspelt or of a wrong type.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

const HEAD = `import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages/messages'
import type { ConverseCommandInput } from '@aws-sdk/client-bedrock-runtime'
import type { Content, GenerationConfig, SafetySetting, Tool, ToolConfig } from '@google/genai'
import type OpenAI from 'openai'

/** Enumerations of a package are strings on the wire, and bytes are base64. */
type Wire<T> = T extends string ? \`\${T}\` : T extends Uint8Array ? string : T extends (infer U)[] ? Wire<U>[] : T extends object ? { [K in keyof T]: Wire<T[K]> } : T
interface Generate { contents: Content[], systemInstruction?: Content, tools?: Tool[], toolConfig?: ToolConfig, generationConfig?: GenerationConfig, safetySettings?: SafetySetting[], cachedContent?: string, labels?: Record<string, string> }
export type GenerateContentRequest = Wire<Generate>
export type ConverseRequest = Wire<Omit<ConverseCommandInput, 'modelId'>>
/** The package has forgotten what older models still take. */
interface Sampling { temperature?: number, top_p?: number, top_k?: number }
export type MessagesRequest = MessageCreateParamsBase & Sampling
/** Vertex AI has the model in the path. */
export type VertexMessages = Omit<MessagesRequest, 'model'> & { stream?: boolean, anthropic_version: 'vertex-2023-10-16' }
export type Packages = OpenAI
`

/** What the compiler says of \`seen\`, one line a mistake; the same body is checked once. */
export async function shapeMistakes(lab, seen) {
  const bodies = [...new Map(seen.map(each => [each.type + JSON.stringify(each.body), each])).values()]
  const folder = join(lab, 'shapes')
  mkdirSync(folder, { recursive: true })
  // One line a constant: its number is that of the request.
  const lines = bodies.map(({ type, body }, i) => `export const request${i}: ${type} = ${JSON.stringify(body)}`)
  writeFileSync(join(folder, 'requests.ts'), HEAD + lines.join('\n'))
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--target',
    'es2024',
    '--module',
    'nodenext',
    '--types',
    'node',
  ]
  const { stdout = '' } = await promisify(execFile)(process.execPath, [compiler, ...options, 'requests.ts'], {
    cwd: folder,
    maxBuffer: 1 << 28,
  }).catch(error => error)
  const before = HEAD.split('\n').length
  const mistakes = stdout.split('\n').flatMap(line => {
    const found = /^requests\.ts\((\d+),\d+\): error (.*)/.exec(line)
    if (!found) return line.startsWith(' ') || line === '' ? [] : [{ request: undefined, message: line }]
    return [{ request: bodies[Number(found[1]) - before], message: found[2] }]
  })
  return { checked: bodies.length, mistakes }
}
