import { type CrdOptions, customResourceDefinitions } from '../cluster/kinds/crd.ts'
import { Failure } from '../diagnostics/failure.ts'
import { printYaml } from '../diagnostics/print-yaml.ts'

/** The CustomResourceDefinitions as one YAML stream, for `kubectl apply --server-side -f -`. */
export function renderCrds(options: CrdOptions): string {
  const { group } = options
  if (group !== undefined && !GROUP.test(group)) {
    throw new Failure('usage', `${group} is not an API group.`, {
      help: 'Write a DNS name with a dot in it, for example gateway.example.com.',
    })
  }
  return customResourceDefinitions(options)
    .map(definition => printYaml(definition))
    .join('---\n')
}

const GROUP = /^(?=.{1,230}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/
