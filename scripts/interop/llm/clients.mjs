// Clients as their authors publish them. Each asks in its own words; all get the same answers, whoever serves the model.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { aiSdk } from './clients/ai-sdk.mjs'
import { anthropic } from './clients/anthropic.mjs'
import { aws } from './clients/aws.mjs'
import { google } from './clients/google.mjs'
import { langchain } from './clients/langchain.mjs'
import { openai } from './clients/openai.mjs'
import { recorded } from './clients/recorded.mjs'

export const PACKAGES = {
  openai: '7.57.0',
  '@anthropic-ai/sdk': '1.12.0',
  '@google/genai': '2.32.0',
  '@aws-sdk/client-bedrock-runtime': '3.1164.0',
  ai: '6.0.326',
  '@ai-sdk/openai': '3.0.141',
  '@ai-sdk/anthropic': '3.0.139',
  '@ai-sdk/google': '3.0.141',
  '@langchain/core': '1.4.0',
  '@langchain/openai': '1.5.8',
  '@langchain/anthropic': '1.5.11',
  '@langchain/google-genai': '2.3.2',
  zod: '4.6.7',
}

/**
 * Clients by name. A client is a function of the gateway's URL and a model; it gives its features by name, and a
 * feature does what the task of that name wants and returns what it got.
 */
export async function loadClients(lab) {
  const { resolve } = createRequire(join(lab, 'package.json'))
  const load = name => import(pathToFileURL(resolve(name)).href)
  const groups = await Promise.all([openai, anthropic, google, aws, aiSdk, langchain, recorded].map(make => make(load)))
  return Object.assign({}, ...groups)
}
