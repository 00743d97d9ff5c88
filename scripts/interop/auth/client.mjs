/** A browser without scripts: keeps cookies by origin and path, follows redirects, sends forms. */
export class Client {
  #jar = new Map()
  #own

  /** Addresses, in order. */
  seen = []

  /** `own`: header fields by origin. */
  constructor(own = {}) {
    this.#own = own
  }

  async open(url, init = {}) {
    this.seen.push(url)
    const { origin, pathname } = new URL(url)
    const cookie = [...this.#jar.values()]
      .filter(each => each.origin === origin && pathname.startsWith(each.path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    const headers = { accept: 'text/html', ...init.headers, ...this.#own[origin], ...(cookie && { cookie }) }
    const reply = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of reply.headers.getSetCookie()) this.#keep(origin, line)
    const location = reply.headers.get('location')
    if (location) return this.open(new URL(location, url).href)
    return { url, status: reply.status, text: await reply.text() }
  }

  /** Sends the first form of a page, with what it has itself and `values`. */
  submit({ url, text }, values) {
    const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1] ?? url
    const own = [...text.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([tag]) => [
      /name="([^"]+)"/.exec(tag)?.[1],
      /value="([^"]*)"/.exec(tag)?.[1] ?? '',
    ])
    const body = new URLSearchParams({ ...Object.fromEntries(own), ...values })
    return this.open(new URL(action, url).href, { method: 'POST', body })
  }

  #keep(origin, line) {
    const [pair, ...attributes] = line.split('; ')
    const at = pair.indexOf('=')
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
    const of = key => attributes.find(each => each.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1)
    const path = of('path') ?? '/'
    const gone = of('max-age') === '0' || new Date(of('expires') ?? '2999').getTime() < Date.now() - 3_600_000
    const key = `${origin} ${path} ${name}`
    if (gone || value === '') this.#jar.delete(key)
    else this.#jar.set(key, { origin, path, name, value })
  }
}
