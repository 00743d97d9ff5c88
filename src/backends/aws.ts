import { object, opt, req, string } from '../schema/builder.ts'
import { defineBackend } from './backend.ts'
import { refusing } from './refusing.ts'

export const awsBackend = defineBackend({
  kind: 'aws',
  doc: 'An AWS service.',
  unserved: 'AWS backends are not served yet.',
  schema: object('AWS backend', {
    agentCore: req(
      object('AgentCore runtime', {
        agentRuntimeArn: req(string({ min: 1, max: 2048 }), 'ARN of the runtime.'),
        qualifier: opt(string({ min: 1, max: 256 }), 'Version or endpoint of the runtime.'),
      }),
      'A Bedrock AgentCore runtime.',
    ),
  }),
  compile: (_spec, ctx) => refusing('aws', ctx),
})
