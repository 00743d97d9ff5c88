/** One port behind which everything reads what clients and backends send. */
export function configFor(port: number, upstream: string): string {
  const to = `backends: [{host: '${upstream}', policies: {http: {version: HTTP/1.1}}}]`
  const route = (host: string, inner: string) => `  - {name: ${host}, hostnames: [${host}.test], ${inner}}`
  const policies = (text: string) => `policies: {${text}}, ${to}`
  const key =
    '{"keys":[{"kty":"EC","crv":"P-256","kid":"a","alg":"ES256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}'
  const reads = [
    "x-1: 'request.headers.map(h, h).size()'",
    'x-2: \'request.headers["x-a"].split(",").size()\'',
    'x-3: \'request.path.matches("(a+)+b")\'',
    'x-4: \'request.uri.lowerAscii().contains("zz")\'',
    "x-5: 'string(json(request.body).size())'",
    'x-6: \'request.headers["cookie"].replace("a", "bb").size()\'',
    'x-8: \'request.uri.setQuery("a", "b").query("a").size()\'',
    "x-9: 'form.decode(request.body).size()'",
    'x-7: \'base64.encode(request.headers["x-a"]).size()\'',
  ]
  const changes = reads.map(each => each.replace(/: '(.*)'$/, (_, text) => `: 'string(${text})'`)).join(', ')
  return `
frontendPolicies:
  http: {http1MaxHeaders: 65536}
  accessLog: {add: {agent: 'request.headers["user-agent"]', query: 'request.uri', cookie: 'request.headers["cookie"]', type: 'response.headers["content-type"]'}}
binds:
- port: ${port}
  listeners:
  - routes:
  - {name: wild, hostnames: ['*.wild.test', '*.a.wild.test', '*.test'], ${to}}
  - {name: exact, matches: [{path: {exact: /exact}}], ${to}}
  - {name: deep, matches: [{path: {pathPrefix: /a/b/c}}, {path: {pathPrefix: /a}}, {path: {pathPrefix: //}}], policies: {urlRewrite: {path: {prefix: /z}}}, ${to}}
  - {name: rest, policies: {cors: {allowOrigins: ['https://*.example.com', 'https://a.test'], allowMethods: ['*'], allowHeaders: [a, b]}}, ${to}}
${[
  route(
    'match',
    `matches: [{path: {regex: '/(a|b)*c'}, headers: [{name: x-a, value: {regex: '(a+)+b'}}], query: [{name: q, value: {regex: '(.*)*b'}}]}, {path: {pathPrefix: /}}], ${to}`,
  ),
  route('jwt', policies(`jwtAuth: {mode: strict, issuer: 'https://a.test', audiences: [a], jwks: '${key}'}`)),
  route('basic', policies("basicAuth: {mode: strict, htpasswd: 'a:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M='}")),
  route('key', policies('apiKey: {mode: strict, keys: [{key: secret}]}')),
  route('csrf', policies("csrf: {additionalOrigins: ['https://a.test', 'https://b.test']}")),
  route('expr', policies(`transformations: {request: {set: {${changes}}}}`)),
  route(
    'reply',
    policies(
      "transformations: {response: {set: {x-1: 'string(size(response.body))', x-2: 'string(response.headers.map(h, h).size())'}}}",
    ),
  ),
  route('llm', `backends: [{ai: {name: a, provider: {openAI: {model: m}}, hostOverride: '${upstream}'}}]`),
  route(
    'mcp',
    `backends: [{mcp: {targets: [{name: a, mcp: {host: 'http://${upstream}/mcp'}}, {name: b, mcp: {host: 'http://${upstream}/mcp'}}]}}]`,
  ),
  route('retry', policies('retry: {attempts: 1, codes: [503]}')),
].join('\n')}
`
    .replace('  - routes:\n', '  - routes:\n')
    .replace(/^ {2}- \{name/gm, '    - {name')
}
