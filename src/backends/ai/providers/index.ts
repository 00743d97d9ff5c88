import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { copilot } from './copilot.ts'
import { custom } from './custom.ts'
import { gemini } from './gemini.ts'
import { openAI } from './openai.ts'
import { vertex } from './vertex.ts'

/** Every provider, by its key in the file. */
export const PROVIDERS = { openAI, anthropic, gemini, vertex, bedrock, azure, copilot, custom } as const
export type ProviderKey = keyof typeof PROVIDERS
