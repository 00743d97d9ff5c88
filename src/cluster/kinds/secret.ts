import { boolean, map, opt, secret as secretText, string } from '../../schema/builder.ts'
import { dataKeyProblem } from '../../schema/resource-scalars.ts'
import { defineKind } from './resource.ts'

const base64 = secretText({
  min: 0,
  pattern: /^(?:[A-Za-z0-9+/]{4}|\s)*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\s*$/,
  form: 'base64 text (`stringData` takes plain text)',
})

export const secret = defineKind(
  {
    kind: 'Secret',
    group: '',
    versions: ['v1'],
    namespaced: true,
  },
  {
    type: opt(string(), 'The type.'),
    data: opt(map(base64, { keys: dataKeyProblem }), 'Values in base64.'),
    stringData: opt(map(secretText({ min: 0 }), { keys: dataKeyProblem }), 'Values as plain text.'),
    immutable: opt(boolean, 'Whether it may change.'),
  },
)
