import { awsSignerFor } from '../../../auth/cloud/aws-signer.ts'
import { EMBEDDING_FAMILIES } from '../../../llm/formats/embeddings/bedrock.ts'
import { bedrockTokenCount } from '../../../llm/formats/messages/bedrock-count.ts'
import { bedrockRerank } from '../../../llm/formats/rerank/bedrock.ts'
import { defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { def, object, opt, req, string } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { asFields, type Fields } from '../../../schema/untyped.ts'
import { betaFeatures, requestMetadata } from './bedrock-headers.ts'
import { clusterModel, defineProvider, type WireCall, type WireFamily, type WirePath } from './provider.ts'

const region = string({ min: 1, max: 63, pattern: /^[a-z0-9-]+$/, form: 'lower-case letters, digits and `-`' })
const bedrockFields = {
  region: def(region, 'us-east-1', 'The region.'),
  guardrail: opt(
    object('provider guardrail', {
      identifier: req(shortString, 'The guardrail.'),
      version: req(shortString, 'Its version.'),
    }),
    'A guardrail of the provider.',
  ),
}

export const bedrock = defineProvider({
  key: 'bedrock',
  telemetryName: 'aws.bedrock',
  doc: 'Amazon Bedrock.',
  settings: object(
    'bedrock provider',
    {
      model: opt(shortString, 'Model to use instead of the one in the request.'),
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
  cluster: [
    {
      member: 'bedrock',
      name: 'Bedrock',
      field: opt(object('Bedrock provider', { ...bedrockFields, model: clusterModel }), 'Managed cloud models.'),
      convert,
      settings: {
        field: opt(object('Bedrock settings', bedrockFields), 'Settings for Bedrock.'),
        params(part, ctx) {
          if (part.guardrail !== undefined)
            ctx.lose(part.guardrail, 'the provider’s guardrail has no place in a model of the file')
          return { awsRegion: part.region }
        },
      },
    },
  ],
  params: { region: 'awsRegion' },
  wire: ({ model, region, guardrailIdentifier, guardrailVersion }) => {
    const edit: WireFamily['edit'] = (body, { format, headers }) => {
      if (format !== 'converse') return
      if (guardrailIdentifier !== undefined) {
        body.set('guardrailConfig', { guardrailIdentifier, guardrailVersion, trace: 'enabled' })
      }
      const metadata = requestMetadata(headers)
      if (metadata) body.set('requestMetadata', metadata)
      const features = betaFeatures(headers)
      if (features.length > 0) {
        const more = body.get('additionalModelRequestFields')
        body.set('additionalModelRequestFields', { ...(more as object | undefined), anthropic_beta: features })
      }
    }
    const claude: WireFamily = {
      formats: { converse, anthropicTokenCount: operation('count-tokens') },
      plain: { anthropicTokenCount: bedrockTokenCount },
      edit,
    }
    const reranking = bedrockRerank(region)
    const others = EMBEDDING_FAMILIES.map(({ family, codec }) => ({
      family,
      wire: {
        formats: { converse, embeddings: operation('invoke'), rerank },
        plain: { embeddings: codec, rerank: reranking },
        edit,
      },
    }))
    return {
      host: `bedrock-runtime.${region}.amazonaws.com`,
      hosts: { rerank: `bedrock-agent-runtime.${region}.amazonaws.com` },
      basePath: '',
      prefixReplacesBase: false,
      formats: { converse, embeddings: operation('invoke'), rerank, anthropicTokenCount: operation('count-tokens') },
      family(model) {
        const name = model.toLowerCase()
        if (name.includes('anthropic.claude')) return claude
        return (others.find(({ family }) => name.includes(family)) as (typeof others)[number]).wire
      },
      model,
      credential: 'bearer',
      sign: ctx => awsSignerFor({ region, service: 'bedrock' }, ctx),
      signedAs: { region, service: 'bedrock' },
      dropHeaders: ['anthropic-beta', 'anthropic-version', 'x-bedrock-metadata', 'conversation_id', 'session_id'],
    }
  },
})

const converse: WirePath = (base, { model, stream }) =>
  operation(stream ? 'converse-stream' : 'converse')(base, { model, stream })

const rerank: WirePath = base => `${base}/rerank`

/** The path of an operation on the model. */
function operation(name: string): (base: string, call: WireCall) => string {
  return (base, { model }) => `${base}/model/${encodeURIComponent(model)}/${name}`
}

function convert(part: Fields): Policies {
  const guardrail = asFields(part.guardrail)
  return defined({
    model: part.model,
    region: part.region,
    guardrailIdentifier: guardrail?.identifier,
    guardrailVersion: guardrail?.version,
  })
}
