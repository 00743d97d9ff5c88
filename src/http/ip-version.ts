const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/
const IPV6 = /^([\da-f:.]*:[\da-f:.]*)(?:%[\da-z.:-]+)?$/i

/**
 * The IP version of the text; 0 if it is no address. Equivalent to `net.isIP`, whose IPv6 expression takes V8 6 ms to
 * compile on first use, and `node:net` 3 ms to load.
 */
export function ipVersion(text: string): 0 | 4 | 6 {
  if (IPV4.test(text)) return 4
  const [, address] = IPV6.exec(text) ?? []
  return address !== undefined && URL.canParse(`http://[${address}]`) ? 6 : 0
}
