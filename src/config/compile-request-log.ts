import type { Expression } from '../cel/expression.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import type { ComputedField, LogRules } from '../policies/frontend/telemetry.ts'
import type { FileOrInline } from '../schema/scalars.ts'
import { type Compilation, readReferenced } from './compile-context.ts'
import type { ConfigSection } from './standalone/config-section.ts'

/** The database of LLM requests. */
export interface RequestLog extends Pick<LogRules, 'filter'> {
  /** The SQLite file. */
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
  const unserved = UNSERVED.find(({ url }) => url.test(text))
  if (unserved) {
    const message = `${unserved.what} not served: write the URL of a SQLite file, such as \`sqlite://./requests.db\``
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

const UNSERVED = [
  { url: /^postgres(?:ql)?:/i, what: 'PostgreSQL is' },
  // It would grow with every request, and no other process could read it.
  { url: /^sqlite:(?:\/\/)?(?::memory:|[^?]*\?(?:.*&)?mode=memory(?:&|$))/i, what: 'a database in memory is' },
] as const

/** Parses SQLite URLs: `sqlite://./data.db?mode=rwc`, `sqlite:///data.db`. */
function sqliteFile(url: string): string | undefined {
  const [, written] = /^sqlite:(?:\/\/)?([^?]*)(?:\?.*)?$/i.exec(url) ?? []
  if (!written) return undefined
  try {
    return decodeURIComponent(written)
  } catch {
    return undefined
  }
}
