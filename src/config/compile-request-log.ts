import type { Expression } from '../cel/expression.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import type { ComputedField, LogRules } from '../policies/frontend/telemetry.ts'
import type { FileOrInline } from '../schema/scalars.ts'
import { type Compilation, readReferenced } from './compile-context.ts'
import type { ConfigSection } from './standalone/config-section.ts'

/** The database of LLM requests. */
export interface RequestLog extends Pick<LogRules, 'filter'> {
  /** The SQLite file; `:memory:` for a database that lasts as long as the process. */
  readonly file: string
  readonly user: Expression | undefined
  readonly group: Expression | undefined
  /** Additional attributes. */
  readonly add: readonly ComputedField[]
}

/** Undefined if none is configured, or after a finding. `log`: which requests the access log records. */
export function compileRequestLog(
  section: ConfigSection | undefined,
  log: LogRules,
  add: readonly ComputedField[],
  c: Compilation,
): RequestLog | undefined {
  const { database, logging, standardAttributes } = section ?? {}
  const url = database?.url ?? logging?.database?.url
  const path = database?.url ? ['config', 'database', 'url'] : ['config', 'logging', 'database', 'url']
  const file = url && fileOf(url, path, c)
  return file === undefined
    ? undefined
    : { file, user: standardAttributes?.user, group: standardAttributes?.group, add, filter: log.filter }
}

function fileOf(url: FileOrInline, path: Path, c: Compilation): string | undefined {
  const text = 'inline' in url ? url.inline : readReferenced(c, url.file, path)?.toString('utf8').trim()
  if (text === undefined) return undefined
  const [scheme = ''] = text.split(':', 1)
  if (/^postgres(?:ql)?$/i.test(scheme)) {
    const message = 'PostgreSQL is not served yet: write the URL of a SQLite file, such as `sqlite://./requests.db`'
    c.report({ code: 'GW601', message, path, at: 'value' })
    return undefined
  }
  const file = sqliteFile(text)
  if (file === undefined)
    c.report({
      code: 'GW106',
      message: 'this is not the URL of a SQLite database',
      path,
      at: 'value',
      help: 'write `sqlite://./requests.db`, or `sqlite:///var/lib/gwctl/requests.db` for a path from the root',
    })
  return file
}

/** Parses SQLite URLs: `sqlite://./data.db?mode=rwc`, `sqlite:///data.db`, `sqlite::memory:`. */
function sqliteFile(url: string): string | undefined {
  const [, written, query = ''] = /^sqlite:(?:\/\/)?([^?]*)(?:\?(.*))?$/i.exec(url) ?? []
  if (!written) return undefined
  if (written === ':memory:' || /(?:^|&)mode=memory(?:&|$)/.test(query)) return ':memory:'
  try {
    return decodeURIComponent(written)
  } catch {
    return undefined
  }
}
