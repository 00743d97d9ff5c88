// Sign-in with oidc-provider: by plain HTTP, and in Chromium.
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../api-server.mjs'
import { openBrowser } from './browser.mjs'
import { Client } from './client.mjs'
import { answers, isInstalled, until } from './place.mjs'

export const VERSION = '9.13.3'
export const title = `oidc-provider ${VERSION}`

export async function run(place) {
  const { url, issuer } = await start(place)
  const user = new Client()
  const checks = {
    'a sign-in by plain HTTP comes back to where it began, with the claims of the user': async () => {
      const page = await user.open(`${url}/a?b=c`)
      const consent = await user.submit(page, { login: 'ann', password: 'x' })
      const back = await user.submit(consent, {})
      return back.url === `${url}/a?b=c` && back.text === 'ann ann@example.com'
    },
    'backends never see the cookies, and whoever has none is asked to sign in': async () => {
      const other = await new Client().open(`${url}/cookies`)
      const { text } = await user.open(`${url}/cookies`)
      return text === 'none' && other.url.startsWith(issuer)
    },
    'a session is refreshed when its token ends, without a new sign-in': async () => {
      await new Promise(done => setTimeout(done, 6000))
      const { text } = await user.open(`${url}/a`)
      const refreshes = await (await fetch(`${issuer}/refreshes`)).text()
      return text.startsWith('ann') && Number(refreshes) > 0
    },
    'a callback does not work twice': async () => {
      const again = await user.open(user.seen.find(each => each.startsWith(`${url}/callback?`)))
      return again.status === 400
    },
    'signing out ends the session here and at the provider': async () => {
      const page = await user.open(`${url}/callback/logout`)
      const home = await user.submit(page, { logout: 'yes' })
      return new URL(home.url).origin === issuer && (await user.open(`${url}/a`)).url.startsWith(issuer)
    },
  }
  return (await hasChromium()) ? { ...checks, ...inChromium(place, url, issuer) } : checks
}

/** What is not run, and why. */
export async function leftOut() {
  return (await hasChromium()) ? [] : ['sign-in in a browser: there is no chromium (Debian: chromium)']
}

function hasChromium() {
  return isInstalled('chromium')
}

function inChromium(place, url, issuer) {
  let browser
  const submit = async (values, next) => {
    const fill = Object.entries(values).map(
      ([name, value]) => `f.elements[${JSON.stringify(name)}].value=${JSON.stringify(value)};`,
    )
    await browser.evaluate(`{const f=document.forms[0];${fill.join('')}(f.querySelector('[type=submit]')??f).click()}`)
    await browser.until(next)
  }
  return {
    'in Chromium, a sign-in comes back to where it began': async () => {
      browser = await openBrowser(place)
      await browser.open(`${url}/a?b=c`)
      await browser.until(`location.origin==='${issuer}' && document.forms[0]?.elements.login`)
      await submit(
        { login: 'ben', password: 'x' },
        `location.origin==='${issuer}' && document.forms[0] && !document.forms[0].elements.login`,
      )
      await submit({}, `location.href==='${url}/a?b=c'`)
      return (await browser.evaluate('document.body.innerText')) === 'ben ben@example.com'
    },
    'in Chromium, scripts cannot read the session': async () => (await browser.evaluate('document.cookie')) === '',
    'in Chromium, requests of a page use the session': async () =>
      (await browser.evaluate(`fetch('/a').then(reply => reply.text())`)) === 'ben ben@example.com',
    'in Chromium, signing out leads to a new sign-in': async () => {
      await browser.open(`${url}/callback/logout`)
      await browser.until(`location.origin==='${issuer}' && document.readyState==='complete'`)
      await browser.evaluate(`document.querySelector('[name=logout]')?.click()`)
      await browser.until(`location.origin==='${issuer}' && document.forms[0]?.elements.login`)
      return true
    },
  }
}

async function start(place) {
  await place.run('npm', ['install', '--no-audit', '--no-fund', '--prefix', place.folder, `oidc-provider@${VERSION}`])
  await copyFile(fileURLToPath(new URL('provider.mjs', import.meta.url)), join(place.folder, 'provider.mjs'))
  const [port] = await freePorts()
  const issuer = `http://127.0.0.1:${port}`
  const to = await place.backend((req, res) => {
    const { 'x-sub': sub, 'x-email': email, cookie = 'none' } = req.headers
    res.setHeader('content-type', 'text/plain')
    res.end(req.url === '/cookies' ? cookie : `${sub} ${email}`)
  })
  const policy = url =>
    `oidc: {issuer: '${issuer}', clientId: web, clientSecret: a-secret-of-the-client-that-nobody-knows, redirectURI: '${url}/callback', scopes: [email, offline_access]}`
  const claims = 'transformations: {request: {set: {x-sub: jwt.sub, x-email: jwt.email}}}'
  const url = await place.gateway(
    'sign-in',
    at => `{policies: {${policy(at)}, ${claims}}, backends: [{host: '${to}'}]}`,
    { OIDC_COOKIE_SECRET: 'a secret of cookies that is long enough' },
  )
  place.start(process.execPath, ['provider.mjs', String(port), `${url}/callback`], { stdio: 'ignore' })
  await until(() => answers(`${issuer}/.well-known/openid-configuration`), 'oidc-provider')
  return { url, issuer }
}
