const INNER = [
  ['127.0.0.1', '7f00:1', '80ff:fffe'],
  ['169.254.169.254', 'a9fe:a9fe', '5601:5601'],
]

function forms([plain, hex, inverted]) {
  const own = [plain, `[::ffff:${plain}]`, `[::ffff:${hex}]`, `[::ffff:0:${plain}]`, `[::${hex}]`, `[64:ff9b::${hex}]`]
  const carried = [`[64:ff9b:1::${hex}]`, `[2002:${hex}::1]`, `[2001:0:${hex}::1]`, `[2001:0:808:808:0:0:${inverted}]`]
  return [...own, ...carried, `[2a00:1450::5efe:${hex}]`, `[2a00:1450::200:5efe:${hex}]`]
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const addresses = [
  {
    name: 'Loopback and metadata addresses as the destination that a client names, in every form of IPv4 and IPv6',
    defends:
      'each address that the text can stand for is looked at; the answer is 4xx or 5xx and no connection is made',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(
        port => `binds: [{port: ${port}, listeners: [{routes: [{backends: [{dynamic: {}}]}]}]}]`,
      )
      const hosts = [
        '0.0.0.0',
        '[::1]',
        '[::]',
        '[fe80::1]',
        'localhost',
        '127.1',
        '2130706433',
        '0x7f.1',
        ...INNER.flatMap(forms),
      ]
      for (const host of hosts) {
        const target = `${host}:${upstream.port}`
        const reply = await raw(
          gateway.port,
          `GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`,
          { quiet: 5000 },
        )
        holds(/^HTTP\/1.1 [45]/.test(reply), `${host} answered ${JSON.stringify(reply.slice(0, 40))}`)
      }
      holds(upstream.requests.length === 0, `${upstream.requests.length} requests arrived`)
      return `${hosts.length} of ${hosts.length} refused`
    },
  },
]
