// One page of headless Chromium, driven over its DevTools protocol.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from './place.mjs'

export async function openBrowser(place) {
  const profile = join(place.folder, 'profile')
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-dev-shm-usage']
  place.start('chromium', [...flags, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: 'ignore',
  })
  let port
  await until(async () => {
    port = await readFile(join(profile, 'DevToolsActivePort'), 'utf8').then(
      text => text.split('\n')[0],
      () => undefined,
    )
    return port !== undefined
  }, 'chromium')
  const pages = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()
  const socket = new WebSocket(pages.find(({ type }) => type === 'page').webSocketDebuggerUrl)
  await new Promise((done, failed) => {
    socket.onopen = done
    socket.onerror = failed
  })
  const waiting = new Map()
  socket.onmessage = ({ data }) => {
    const { id, result, error } = JSON.parse(data)
    waiting.get(id)?.(error ? { failed: error.message } : result)
  }
  let serial = 0
  const send = (method, params = {}) =>
    new Promise(done => {
      const id = ++serial
      waiting.set(id, done)
      socket.send(JSON.stringify({ id, method, params }))
    })
  /** The value of an expression in the page; undefined while there is none. */
  const evaluate = async expression => {
    const { result } = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
    return result?.value
  }
  return {
    evaluate,
    open: url => send('Page.navigate', { url }),
    until: condition => until(() => evaluate(`Boolean(${condition})`), `the page on which ${condition}`),
  }
}
