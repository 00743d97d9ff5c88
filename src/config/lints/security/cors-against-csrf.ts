import { originText, parseOrigin } from '../../../http/origin.ts'
import type { Lint } from '../lint.ts'

/** Requests that `csrf` admits from any origin. */
const SAFE: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** GW578: origins that CORS allows and CSRF protection refuses. */
export const corsAgainstCsrf: Lint = file => {
  for (const { policies } of file.sites) {
    const { cors, csrf } = policies
    const method = cors?.allowMethods.find(name => !SAFE.includes(name.toUpperCase()))
    if (!cors || !csrf || method === undefined) continue
    const allowed = new Set(csrf.additionalOrigins)
    const at = cors.allowOrigins.findIndex(text => {
      const origin = parseOrigin(text)
      return text.includes('*') || (origin !== undefined && !allowed.has(originText(origin)))
    })
    const origin = cors.allowOrigins[at]
    if (origin === undefined) continue
    const pattern = origin.includes('*')
    file.report({
      code: 'GW578',
      message: `\`cors\` lets ${pattern ? `pages of \`${origin}\`` : `\`${origin}\``} send ${method === '*' ? 'any method' : method}, and \`csrf\` answers 403`,
      path: [...file.pathOf(cors.allowOrigins), at],
      at: 'value',
      label: '`csrf` does not allow this origin',
      help: pattern
        ? 'name the origins here and in `csrf.additionalOrigins`, which takes no patterns'
        : `add \`${origin}\` to \`csrf.additionalOrigins\`, or allow GET only`,
      related: [{ path: file.pathOf(csrf), at: 'key', message: 'refuses other origins' }],
    })
  }
}
