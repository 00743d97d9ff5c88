import { arrange, type CheckReport, displayPath } from './report.ts'
import { xml } from './xml.ts'

/** The Checkstyle 4.3 format, supported by most review tools. */
export function renderCheckstyle(report: CheckReport): string {
  const all = arrange(report.diagnostics)
  const files = [...new Set(all.map(d => d.file))]
  const body = files.map(file => {
    const errors = all
      .filter(d => d.file === file)
      .map(d => {
        const { line, col } = d.range.start
        const message = d.help === undefined ? d.message : `${d.message} (${d.help})`
        return `    <error line="${line}" column="${col}" severity="${d.severity}" message="${xml(message)}" source="gwctl.${d.code}"/>\n`
      })
    return `  <file name="${xml(displayPath(file, report.cwd))}">\n${errors.join('')}  </file>\n`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<checkstyle version="4.3">\n${body.join('')}</checkstyle>\n`
}
