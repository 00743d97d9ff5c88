// Agents on Amazon Bedrock AgentCore.
// https://docs.aws.amazon.com/bedrock-agentcore/latest/APIReference/API_InvokeAgentRuntime.html
import { awsSignerFor } from '../auth/cloud/aws-signer.ts'
import { object, opt, parsed, req, string } from '../schema/builder.ts'
import { defineBackend } from './backend.ts'
import { HttpTarget } from './http-target.ts'

interface RuntimeArn {
  readonly text: string
  readonly region: string
}

const runtimeArn = parsed(
  string({ min: 1, max: 2048 }),
  'the ARN of an AgentCore runtime',
  (text): { value: RuntimeArn } | { problem: { message: string; help: string } } => {
    const region = /^arn:aws[a-z-]*:bedrock-agentcore:([a-z]{2}(?:-[a-z]+)+-\d):[^:/]+:runtime\/[^/]+$/.exec(text)?.[1]
    if (region !== undefined) return { value: { text, region } }
    return {
      problem: {
        message: `\`${text}\` is not the ARN of an AgentCore runtime`,
        help: 'write `arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/NAME`',
      },
    }
  },
  { text: '', region: 'us-east-1' },
)

export const awsBackend = defineBackend({
  kind: 'aws',
  doc: 'An AWS service, called with signed requests.',
  spec: 'ProxyBackend',
  schema: object('AWS backend', {
    agentCore: req(
      object('AgentCore runtime', {
        agentRuntimeArn: req(runtimeArn, 'ARN of the runtime.'),
        qualifier: opt(string({ min: 1, max: 256 }), 'Version or endpoint of the runtime.'),
      }),
      'A Bedrock AgentCore runtime.',
    ),
  }),
  compile({ agentCore: { agentRuntimeArn, qualifier } }, ctx) {
    const { text, region } = agentRuntimeArn
    const { settings } = ctx
    const sign = settings.sign ?? awsSignerFor({ region, service: 'bedrock-agentcore' }, ctx)
    const host = `bedrock-agentcore.${region}.amazonaws.com`
    const at = new HttpTarget({ host, port: 443 }, { ...settings, tls: settings.tls ?? {}, sign })
    const query = qualifier === undefined ? '' : `?qualifier=${encodeURIComponent(qualifier)}`
    const path = `/runtimes/${encodeURIComponent(text)}/invocations${query}`
    return {
      key: ctx.key,
      name: ctx.name,
      kind: 'aws',
      protocol: 'http',
      origin: ctx.origin,
      replayable: true,
      send(x, attempt, on) {
        x.request.path = path
        at.send(ctx.runtime, x, attempt, on)
      },
    }
  },
})
