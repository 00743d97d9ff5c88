import { def, integer, list, map, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { INFERENCE_GROUP } from '../../schema/resource-references.ts'
import { groupName, kindName, labelKeyProblem, labelValue, refName } from '../../schema/resource-scalars.ts'
import { missing } from '../../schema/rules.ts'
import { port } from '../../schema/scalars.ts'
import { defineKind, foreignStatus } from './resource.ts'

const picker = object(
  'endpoint picker reference',
  {
    group: def(groupName, '', 'The API group; empty for a Service.'),
    kind: def(kindName, 'Service', 'The kind.'),
    name: req(refName, 'The name.'),
    port: opt(object('picker port', { number: req(port, 'The port.') }), 'The port; required for a Service.'),
    failureMode: def(oneOf(['FailOpen', 'FailClose']), 'FailClose', 'What happens when it cannot be reached.'),
  },
  {
    refers: { to: 'backend', kind: 'Service' },
    check: value =>
      value.kind === 'Service' && value.port === undefined
        ? [missing('port', 'a reference to a Service needs its port')]
        : [],
  },
)
const spec = object('InferencePool', {
  selector: req(
    object('Pod selector', {
      matchLabels: req(map(labelValue, { max: 64, keys: labelKeyProblem }), 'Labels of the Pods.'),
    }),
    'The Pods that serve models.',
  ),
  targetPorts: req(
    list(object('target port', { number: req(integer(1, 65535), 'The port.') }), {
      min: 1,
      max: 8,
      unique: ['number'],
    }),
    'The ports of the Pods.',
  ),
  appProtocol: opt(string(), 'The protocol that the Pods speak.'),
  endpointPickerRef: req(picker, 'The service that chooses an endpoint.'),
})

export const inferencePool = defineKind(
  {
    kind: 'InferencePool',
    group: INFERENCE_GROUP,
    versions: ['v1'],
    namespaced: true,
  },
  { spec: req(spec, 'The Pods and who chooses among them.'), status: foreignStatus },
)
