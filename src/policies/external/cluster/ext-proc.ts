import { boolean, cel, def, map, object, oneOf, opt } from '../../../schema/builder.ts'
import { endpoint } from '../../../schema/resource-references.ts'
import { conditional } from '../../../schema/resource-variants.ts'
import { asFields, type Fields } from '../../../schema/untyped.ts'
import {
  type ClusterContext,
  type ClusterForm,
  copied,
  defined,
  lower,
  type Policies,
  variants,
} from '../../parts/cluster-form.ts'

const expressions = map(cel('request', 'any'), { max: 64 })

const send = (what: string) => def(oneOf(['Send', 'Skip']), 'Send', `Whether the ${what} is sent.`)
const bodyMode = (what: string) =>
  def(
    oneOf(['None', 'Buffered', 'BufferedPartial', 'FullDuplexStreamed']),
    'FullDuplexStreamed',
    `How the ${what} body is sent.`,
  )
const processingOptions = object('processing options', {
  requestHeaderMode: send('request header'),
  responseHeaderMode: send('response header'),
  requestTrailerMode: send('request trailer'),
  responseTrailerMode: send('response trailer'),
  requestBodyMode: bodyMode('request'),
  responseBodyMode: bodyMode('response'),
  allowModeOverride: def(boolean, false, 'Lets the service change these modes.'),
})
const processorService = endpoint({ urlPath: false, what: 'The processing service' })
const extProc = conditional(
  'external processing',
  {
    ...processorService.fields,
    failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens when the service is unavailable.'),
    processingOptions: opt(processingOptions, 'Which parts of the exchange are sent.'),
    metadataContext: opt(map(map(cel('request', 'any')), { max: 64 }), 'Metadata by namespace: name to expression.'),
    requestAttributes: opt(expressions, 'Attributes of the request: name to expression.'),
    responseAttributes: opt(
      map(cel('response', 'any'), { max: 64 }),
      'Attributes of the response: name to expression.',
    ),
  },
  { exactlyOneOf: [processorService.group] },
)

export const extProcInCluster: readonly ClusterForm[] = [
  {
    section: 'traffic',
    member: 'extProc',
    field: opt(extProc, 'A service that processes requests and responses.'),
    convert,
  },
]

function convert(part: Fields, ctx: ClusterContext): Policies | undefined {
  return variants(part, plain => {
    const target = ctx.target(plain, 'failed to build extProc')
    const options = asFields(plain.processingOptions)
    const context = asFields(plain.metadataContext)
    return (
      target &&
      defined({
        ...target,
        failureMode: lower(plain.failureMode),
        processingOptions:
          options && Object.fromEntries(Object.entries(options).map(([name, value]) => [name, lower(value)])),
        metadataContext:
          context && Object.fromEntries(Object.entries(context).map(([name, inner]) => [name, { ...asFields(inner) }])),
        requestAttributes: copied(plain.requestAttributes),
        responseAttributes: copied(plain.responseAttributes),
      })
    )
  })
}
