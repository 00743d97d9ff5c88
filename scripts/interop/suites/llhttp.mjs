// The fixtures of llhttp, Node's parser of HTTP/1, against the gateway's: what the strict parser refuses has to be
// refused, and what it takes is taken or stands below with the reason why it is not. Requests without a `Host` get one.
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { ResponseParser } from '../../../src/engine/upstream/http1-parser.ts'
import { startGateway } from '../../../test/helpers/gateway.ts'
import { missingData, suiteFolder } from '../shared-suites.mjs'

export const name = 'llhttp'
export const title = 'llhttp fixtures (nodejs/llhttp), requests and replies in strict mode'

/** What the gateway says of what llhttp takes → why it is refused. */
const STRICTER = {
  'method not allowed': 'CONNECT is refused unless `frontendPolicies.connect` takes it',
  'invalid request': '`*` is for OPTIONS only, an authority has no user (RFC 9110 section 4.2.4), and `PRI` is HTTP/2',
  version: 'another protocol (RTSP, ICE)',
  method: 'HTTP/0.9',
  target: '`#` in a request target (RFC 9112 section 3.2)',
  'bytes after the end': 'nobody has asked for what follows the reply: the connection is not used again',
  'no status line': 'another protocol or version, or an empty line, before the reply',
  'request upgrade failed: unexpected switch of protocols': 'nobody has asked for another protocol',
  'malformed content-length': 'tabs around a length: readers take them differently',
  'unsupported transfer-encoding': 'no coding but `chunked` can be undone here',
}

/** The same for what is taken. */
const LOOSER = {
  'Invalid method for HTTP/x.x request': 'RFC 9110 section 9.1: any token is a method',
  'Expected space after method': 'likewise',
}

export async function needs() {
  return missingData('llhttp')
}

export async function run() {
  const outcome = { passed: 0, known: [], failed: [] }
  const gateway = await startGateway(
    'binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]',
  )
  for (const each of casesIn('request'))
    judge(`request/${each.id}`, each.log, await refusalOfRequest(gateway, withHost(each.bytes)), outcome)
  await gateway[Symbol.asyncDispose]()
  for (const each of casesIn('response')) judge(`response/${each.id}`, each.log, refusalOfReply(each.bytes), outcome)
  return outcome
}

/**
 * `refusal`: why the gateway refuses it; undefined when it does not. `served`: how many requests it has answered, for
 * what it refuses only once the head is complete.
 */
function judge(id, log, { refusal, served }, outcome) {
  // It stops there because it was asked to, or at what follows the last message.
  const error = /error code=(?!5 |21 |22 |23 )\d+ reason="([^\n]*)"/.exec(log)
  const complete = log.match(/message complete/g)?.length ?? 0
  const stopped = refusal !== undefined || served <= complete
  if (error === null ? refusal === undefined : stopped) outcome.passed++
  else if (error !== null && LOOSER[error[1]] !== undefined) outcome.known.push({ case: id, reason: LOOSER[error[1]] })
  else if (error !== null) outcome.failed.push({ case: id, reason: `is taken, and llhttp says: ${error[1]}` })
  else if (STRICTER[refusal] !== undefined) outcome.known.push({ case: id, reason: STRICTER[refusal] })
  else outcome.failed.push({ case: id, reason: `is refused: ${refusal}` })
}

/** A request of HTTP/1.1 without `Host` is refused for that alone; most cases are about something else. */
function withHost(bytes) {
  return bytes.replace(/^(\s*\S+ \S+ HTTP\/1\.1)\r\n(?![\s\S]*^host:)/im, '$1\r\nHost: a\r\n')
}

function refusalOfRequest(gateway, bytes) {
  const before = gateway.logged.length
  return new Promise(resolve => {
    let reply = ''
    const socket = connect(gateway.gateway.portOf(8080), '127.0.0.1', () => socket.write(bytes, 'latin1'))
    const done = () => {
      clearTimeout(quiet)
      socket.destroy()
      const served = reply.match(/^HTTP\/1\.1 200/gm)?.length ?? 0
      if (!/^HTTP\/1\.1 [45]/m.test(reply)) resolve({ served })
      else
        resolve({
          served,
          refusal: /error="(?:invalid request: )?([^"]*)"/.exec(gateway.logged.slice(before).join())?.[1] ?? reply,
        })
    }
    // What keeps the connection, or waits for more, says nothing more.
    let quiet = setTimeout(done, 150)
    socket.on('error', () => {}).on('close', done)
    socket.on('data', data => {
      reply += data.toString('latin1')
      quiet = quiet.refresh()
    })
  })
}

function refusalOfReply(bytes) {
  let served = 0
  const parser = new ResponseParser({
    onHead() {},
    onBody() {},
    onSwitch() {},
    onEnd() {
      served++
    },
  })
  parser.start('GET', false)
  const memory = Buffer.from(bytes, 'latin1')
  try {
    parser.execute(memory, 0, memory.length)
    return { served }
  } catch (error) {
    return { served, refusal: error.message.replace('upstream call failed: invalid response: ', '') }
  }
}

function casesIn(kind) {
  const folder = `${suiteFolder('llhttp')}${kind}/`
  return readdirSync(folder)
    .sort()
    .flatMap(file => {
      const text = readFileSync(folder + file, 'utf8')
      const pattern =
        /^#{1,4} (?<title>[^\n]+)$|<!-- meta=(?<meta>\{[^}]*\}) -->\s*```http\n(?<bytes>(?:(?!```).)*?)\n```\n[^`]*```log\n(?<log>.*?)\n```/gms
      let title = ''
      return [...text.matchAll(pattern)].flatMap(({ groups }) => {
        if (groups.title !== undefined) {
          title = groups.title
          return []
        }
        const { type, pause, skipBody } = JSON.parse(groups.meta)
        if (type !== kind || pause !== undefined || skipBody) return []
        return [{ id: `${file.replace('.md', '')}: ${title}`, bytes: bytesOf(groups.bytes), log: groups.log }]
      })
    })
}

/** As llhttp reads them: lines end with CRLF unless a backslash joins them, and `\\r`, `\\n`, `\\t`, `\\f`, `\\x00` are bytes. */
function bytesOf(text) {
  return text
    .replace(/\\\n/g, '')
    .replace(/\n/g, '\r\n')
    .replace(/\\(?:([rntf])|x([0-9a-f]{2}))/gi, (_all, letter, hex) =>
      letter === undefined
        ? String.fromCharCode(Number.parseInt(hex, 16))
        : { r: '\r', n: '\n', t: '\t', f: '\f' }[letter],
    )
}
