import { customResourceDefinitions } from '../../src/cluster/kinds/crd.ts'
import { printYaml } from '../../src/diagnostics/print-yaml.ts'
import type { Generator } from './generator.ts'

/** schemas/crds: what `gwctl crds` prints, one file for each kind. */
export const crds: Generator = {
  name: 'crds',
  async outputs() {
    return new Map(
      customResourceDefinitions({ public: false }).map(definition => {
        const { name } = definition.metadata as { readonly name: string }
        return [`schemas/crds/${name}.yaml`, printYaml(definition)]
      }),
    )
  },
  owns: ['schemas/crds'],
}
