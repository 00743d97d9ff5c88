import { ROUTE_TYPES } from '../../../llm/route-type.ts'
import {
  boolean,
  cel,
  def,
  integer,
  json,
  list,
  map,
  object,
  oneOf,
  opt,
  req,
  string,
} from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { upper } from '../../parts/cluster-form.ts'
import { promptGuard } from './guardrails.ts'

const message = object('message', {
  role: req(string(), 'Who speaks.'),
  content: req(string(), 'Text of the message.'),
})
const enrichment = object('prompt enrichment', {
  prepend: opt(list(message), 'Messages before the client’s.'),
  append: opt(list(message), 'Messages after the client’s.'),
})

const fixedField = object('field default', {
  field: req(shortString, 'The field of the request body.'),
  value: req(json, 'Its value.'),
  override: opt(boolean, 'Replaces a value that the client sent.'),
})
const fixedFields = list(fixedField, { min: 1, max: 64 })
const computedField = object('field transformation', {
  field: req(shortString, 'The field of the request body.'),
  expression: req(cel('llmRequest', 'any'), 'Expression for its value.'),
})
export const transformationsOf = (o: { readonly unique?: readonly string[] } = {}) =>
  list(computedField, { min: 1, max: 64, ...o })

const promptCaching = object('prompt caching', {
  cacheSystem: def(boolean, true, 'Marks the system prompt.'),
  cacheMessages: def(boolean, true, 'Marks the messages.'),
  cacheTools: def(boolean, false, 'Marks the tools.'),
  minTokens: def(integer(0), 1024, 'Shorter prompts, by estimate, are not marked.'),
  cacheMessageOffset: def(integer(0), 0, 'How far before the second-to-last message the mark is placed.'),
})

const CLUSTER_ROUTE_TYPES = ROUTE_TYPES.map(upper)

const aiFields = {
  prompt: opt(enrichment, 'Messages added to every request.', { aliases: ['promptEnrichment'] }),
  promptGuard: opt(promptGuard, 'Guards of requests and responses.'),
  defaults: opt(fixedFields, 'Defaults for fields that requests do not set.'),
  overrides: opt(fixedFields, 'Fields set in every request.'),
  transformations: opt(transformationsOf(), 'Fields computed by expressions; they take precedence over `overrides`.'),
  finalTransformations: opt(transformationsOf(), 'Fields computed after the conversion to the provider’s format.'),
  modelAliases: opt(map(string(), { max: 64 }), 'Model name in the request to model name at the provider.'),
  promptCaching: opt(promptCaching, 'Marks prompts for the provider’s cache.'),
  routes: opt(map(oneOf(CLUSTER_ROUTE_TYPES)), 'Path suffix to how such paths are handled; `*` for all others.'),
}
/** LLM policies of a backend. */
export const aiInCluster = object('AI policies', aiFields, { atLeastOneOf: [Object.keys(aiFields)] })
