import type { Lint } from '../lint.ts'

/** GW550: keys that anyone on the network path can replace. */
export const plainKeys: Lint = file => {
  file.visit('object', ({ node, value, path }) => {
    if (node.kind !== 'object' || node.name !== 'key set') return
    const url = (value as { url?: unknown } | null)?.url
    if (typeof url !== 'string' || !/^http:\/\/(?!localhost\b|127\.|\[::1\])/i.test(url)) return
    // Inside a cluster, addresses are derived from Service names.
    if (file.textAt([...path, 'url']) === '') return
    file.report({
      code: 'GW550',
      message: 'the keys for verifying tokens are fetched without TLS',
      path: [...path, 'url'],
      at: 'value',
      label: 'anyone who changes them in transit can sign valid tokens',
      help: 'use `https://`, or a `file`',
    })
  })
}
