import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createAuthority, createCertificate } from '../../../helpers/certificates.ts'
import { startConnectProxy } from '../../../helpers/connect-proxy.ts'
import { arrange, PATHS, requestOf, says, textIn } from './conversations.ts'

const authority = createAuthority('guards')
const HOSTS = [
  'api.openai.com',
  'bedrock-runtime.eu-west-1.amazonaws.com',
  'modelarmor.us-central1.rep.googleapis.com',
  'own.cognitiveservices.azure.com',
]

interface Asked {
  readonly host: string
  readonly path: string
  readonly headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: the body is looked into by its fields
  readonly body: any
}

/** Every cloud at one address, behind a proxy that leads there whatever host is asked for. */
async function startClouds(answer: (asked: Asked) => unknown) {
  const seen: Asked[] = []
  const server = createServer(createCertificate(authority, HOSTS), (req, res) => {
    let text = ''
    req.on('data', chunk => {
      text += chunk
    })
    req.on('end', () => {
      const headers = req.headers as Record<string, string>
      const asked = { host: headers.host ?? '', path: req.url ?? '', headers, body: JSON.parse(text) }
      seen.push(asked)
      res.end(JSON.stringify(answer(asked)))
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const proxy = await startConnectProxy((server.address() as AddressInfo).port)
  const way = `backendTunnel: { proxy: { host: "${proxy.url}" } }, backendTLS: { insecure: true }`
  return {
    seen,
    /** Policies that lead a call here. */
    policies: (more = '') => `policies: { ${way}${more} }`,
    async [Symbol.asyncDispose]() {
      proxy[Symbol.dispose]()
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

const KEY = ', backendAuth: { key: sk-guard }'
const post = async (guardrails: string, text = 'hello there', env: Record<string, string> = {}) => {
  await using at = await arrange(guardrails, 'openAI', { env })
  says(at.upstream, 'completions', 'a reply')
  const reply = await at.post(PATHS.completions, requestOf('completions', text))
  return { status: reply.status, text: await reply.text(), sent: at.upstream.seen[0]?.body }
}

describe('OpenAI moderation', () => {
  const guard = (policies: string) => `{ request: [{ openAIModeration: { ${policies} } }] }`
  test.each([
    [false, 200],
    [true, 403],
  ])('flagged: %s', async (flagged, status) => {
    await using clouds = await startClouds(() => ({ id: 'm', results: [{ flagged: false }, { flagged }] }))
    expect((await post(guard(clouds.policies(KEY)))).status).toBe(status)
    expect(clouds.seen).toMatchObject([
      {
        host: 'api.openai.com',
        path: '/v1/moderations',
        headers: { authorization: 'Bearer sk-guard' },
        body: { model: 'omni-moderation-latest', input: ['hello there'] },
      },
    ])
  })
  test('fails closed on an empty result', async () => {
    await using clouds = await startClouds(() => ({ results: [] }))
    expect((await post(guard(clouds.policies(KEY)))).status).toBe(503)
  })
})

describe('Bedrock guardrails', () => {
  const ENV = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
  const guard = (policies: string, phase = 'request') =>
    `{ streaming: Enabled, ${phase}: [{ bedrockGuardrails: { guardrailIdentifier: g/1, guardrailVersion: "2", region: eu-west-1, ${policies} } }] }`

  test('are called with a request signed with credentials from the environment', async () => {
    await using clouds = await startClouds(() => ({ action: 'NONE', outputs: [], assessments: [] }))
    expect((await post(guard(clouds.policies()), 'hi', ENV)).status).toBe(200)
    const [asked] = clouds.seen
    expect(asked).toMatchObject({
      host: 'bedrock-runtime.eu-west-1.amazonaws.com',
      path: '/guardrail/g%2F1/version/2/apply',
      body: { source: 'INPUT', content: [{ text: { text: 'hi' } }] },
    })
    expect(asked?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-west-1\/bedrock\/aws4_request/,
    )
  })
  test('mask what they anonymize, and reject what they block', async () => {
    const intervened = (action: string) => ({
      action: 'GUARDRAIL_INTERVENED',
      outputs: [{ text: 'I am {NAME}' }],
      assessments: [{ sensitiveInformationPolicy: { piiEntities: [{ type: 'NAME', action }] } }],
    })
    await using masking = await startClouds(() => intervened('ANONYMIZED'))
    expect((await post(guard(masking.policies()), 'I am Joe', ENV)).sent).toContain('I am {NAME}')
    await using blocking = await startClouds(() => intervened('BLOCKED'))
    expect((await post(guard(blocking.policies()), 'I am Joe', ENV)).status).toBe(403)
  })
  test('check streams', async () => {
    await using clouds = await startClouds(({ body }) => ({
      action: 'GUARDRAIL_INTERVENED',
      outputs: body.content.map(({ text }: { text: { text: string } }) => ({
        text: text.text.replaceAll('Joe', '{NAME}'),
      })),
      assessments: [{ action: 'ANONYMIZED' }],
    }))
    await using at = await arrange(guard(clouds.policies(), 'response'), 'openAI', { env: ENV })
    says(at.upstream, 'completions', 'I am J', 'oe', '.')
    const reply = await at.post(PATHS.completions, { ...requestOf('completions', 'hi'), stream: true })
    expect(textIn('completions', await reply.text()).said).toBe('I am {NAME}.')
    expect(clouds.seen[0]?.body.source).toBe('OUTPUT')
  })
})

describe('Model Armor', () => {
  const guard = (policies: string, phase = 'request') =>
    `{ ${phase}: [{ googleModelArmor: { templateId: t, projectId: p, ${policies} } }] }`
  const result = (state: string, rest: object = {}) => ({
    sanitizationResult: {
      filterResults: {
        rai: { raiFilterResult: { matchState: state } },
        csam: { csamFilterFilterResult: { matchState: 'NO_MATCH_FOUND' } },
      },
      ...rest,
    },
  })
  test.each([
    ['no match', result('NO_MATCH_FOUND', { invocationResult: 'SUCCESS' }), 200],
    ['a match', result('MATCH_FOUND'), 403],
    ['filters that did not run', result('NO_MATCH_FOUND', { invocationResult: 'PARTIAL' }), 503],
    ['no result', {}, 503],
  ])('%s', async (_name, answer, status) => {
    await using clouds = await startClouds(() => answer)
    expect((await post(guard(clouds.policies(KEY)))).status).toBe(status)
    expect(clouds.seen).toMatchObject([
      {
        host: 'modelarmor.us-central1.rep.googleapis.com',
        path: '/v1/projects/p/locations/us-central1/templates/t:sanitizeUserPrompt',
        body: { user_prompt_data: { text: 'hello there' } },
      },
    ])
    await using at = await arrange(guard(clouds.policies(KEY), 'response'))
    says(at.upstream, 'completions', 'a reply')
    expect((await at.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(status)
    expect(clouds.seen.at(-1)).toMatchObject({ body: { model_response_data: { text: 'a reply' } } })
  })
})

describe('Azure content safety', () => {
  const KEYED = ', backendAuth: { key: { value: k, location: { header: { name: ocp-apim-subscription-key } } } }'
  const guard = (policies: string, more: string) =>
    `{ request: [{ azureContentSafety: { endpoint: own.cognitiveservices.azure.com, ${more}, ${policies} } }] }`
  test.each([
    [1, 200],
    [2, 403],
  ])('severity %s', async (severity, status) => {
    await using clouds = await startClouds(() => ({
      blocklistsMatch: [],
      categoriesAnalysis: [{ category: 'Hate', severity }],
    }))
    expect((await post(guard(clouds.policies(KEYED), 'analyzeText: { blocklistNames: [b] }'))).status).toBe(status)
    expect(clouds.seen).toMatchObject([
      {
        path: '/contentsafety/text:analyze?api-version=2024-09-01',
        headers: { 'ocp-apim-subscription-key': 'k' },
        body: { text: 'hello there', blocklistNames: ['b'] },
      },
    ])
  })
  test('checks long texts in parts', async () => {
    await using clouds = await startClouds(({ body }) => ({
      categoriesAnalysis: [{ severity: body.text.includes('evil') ? 6 : 0 }],
    }))
    expect((await post(guard(clouds.policies(KEYED), 'analyzeText: {}'), `${'x'.repeat(9998)}evil`)).status).toBe(403)
    expect(clouds.seen).toHaveLength(2)
  })
  test('detects jailbreak attempts', async () => {
    await using clouds = await startClouds(() => ({ jailbreakAnalysis: { detected: true } }))
    expect((await post(guard(clouds.policies(KEYED), 'detectJailbreak: {}'))).status).toBe(403)
    expect(clouds.seen).toMatchObject([{ path: '/contentsafety/text:detectJailbreak?api-version=2024-02-15-preview' }])
  })
})
