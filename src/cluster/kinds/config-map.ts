import { boolean, map, opt, string } from '../../schema/builder.ts'
import { dataKeyProblem } from '../../schema/resource-scalars.ts'
import { defineKind } from './resource.ts'

export const configMap = defineKind(
  {
    kind: 'ConfigMap',
    group: '',
    versions: ['v1'],
    namespaced: true,
  },
  {
    data: opt(map(string(), { keys: dataKeyProblem }), 'Values.'),
    binaryData: opt(map(string(), { keys: dataKeyProblem }), 'Values in base64.'),
    immutable: opt(boolean, 'Whether it may change.'),
  },
)
