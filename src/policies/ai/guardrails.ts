// Guards of the `llm` section and its models, which declare them in separate fields.
import { promptGuard } from '../external/prompt-guard.ts'
import { definePolicy } from '../policy.ts'
import { compileGuards } from './guards/compile-guards.ts'

export const guardrails = definePolicy({
  name: 'guardrails',
  doc: 'Guards on LLM requests and replies.',
  spec: 'Guardrails',
  attach: [],
  perBackend: true,
  schema: promptGuard,
  guards: true,
  compile: (spec, ctx) => ({ upstream: { guards: [compileGuards(spec, ctx)] } }),
})
