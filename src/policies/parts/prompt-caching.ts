import { boolean, def, integer, nothing, object, shapes } from '../../schema/builder.ts'

/** Where cache points are inserted in requests to Amazon Bedrock. */
export const promptCaching = object('prompt caching', {
  cacheSystem: def(boolean, true, 'Marks the system prompt.'),
  cacheMessages: def(boolean, true, 'Marks the conversation.'),
  cacheTools: def(boolean, false, 'Marks the tools.'),
  minTokens: def(shapes({ number: integer(0), null: nothing }), 1024, 'Shorter prompts are not marked; null: all are.'),
  cacheMessageOffset: def(integer(0), 0, 'How many messages before the second to last the mark is placed.'),
})
