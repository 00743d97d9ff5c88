import { def, object, opt, string } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider } from './provider.ts'

export const bedrock = defineProvider({
  key: 'bedrock',
  telemetryName: 'aws.bedrock',
  doc: 'Amazon Bedrock.',
  settings: object(
    'bedrock provider',
    {
      model: opt(shortString, 'Model to use instead of the one that the request names.'),
      region: def(
        string({ min: 1, max: 63, pattern: /^[a-z0-9-]+$/, form: 'lower-case letters, digits and `-`' }),
        'us-east-1',
        'AWS region.',
        { spec: 'Provider settings' },
      ),
      guardrailIdentifier: opt(shortString, 'Guardrail to apply.'),
      guardrailVersion: opt(shortString, 'Version of the guardrail.'),
    },
    {
      check: ({ guardrailIdentifier, guardrailVersion }) =>
        (guardrailIdentifier === undefined) === (guardrailVersion === undefined)
          ? []
          : [{ path: [], at: 'parent', message: '`guardrailIdentifier` and `guardrailVersion` go together' }],
    },
  ),
  unserved: 'Amazon Bedrock is not called yet: it has a format of its own and signed requests.',
  wire: ({ model, region }) => ({
    host: `bedrock-runtime.${region}.amazonaws.com`,
    basePath: '',
    prefixReplacesBase: false,
    formats: {},
    model,
    credential: 'bearer',
  }),
})
