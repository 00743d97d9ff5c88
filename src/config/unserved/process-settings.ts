import type { Path } from '../../diagnostics/diagnostic.ts'
import type { Compilation } from '../compile-context.ts'
import type { ConfigSection } from '../standalone/config-section.ts'

/** Values of `config` that are valid and not served. */
export function reportUnservedSettings(section: ConfigSection | undefined, c: Compilation): void {
  const report = (message: string, path: Path) => c.report({ code: 'GW601', message, path, at: 'value' })
  const { histograms, storage } = section ?? {}
  if (histograms !== undefined && histograms !== 'classic')
    report(`histograms of kind \`${histograms}\` are not served yet; \`/metrics\` shows classic ones`, [
      'config',
      'histograms',
    ])
  if (storage?.mode === 'hybrid')
    report('a hybrid store is not served: the configuration is that of the file', ['config', 'storage', 'mode'])
}
