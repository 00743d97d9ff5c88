import { describe, expect, test } from 'vitest'
import { type LogOptions, ProcessLog } from '../../src/engine/logging.ts'
import { LogFilter, LogFilterError } from '../../src/runtime/log-filter.ts'
import { ManualClock } from './manual-clock.ts'

function start(options: Partial<LogOptions> = {}) {
  const clock = new ManualClock()
  const written: string[] = []
  const sink = { write: (text: string) => written.push(text), writableLength: 0 }
  const log = new ProcessLog({ clock, format: 'text', sink, ...options })
  return {
    clock,
    log,
    sink,
    text: () => {
      log.flush()
      return written.join('')
    },
  }
}

describe('log filter', () => {
  test.each([
    ['info', 'info'],
    ['hyper=debug,info,rmcp=warn', 'hyper=debug,rmcp=warn,info'],
    ['warn,debug', 'debug'],
    [' debug , mcp=OFF ,', 'mcp=off,debug'],
    ['agentgateway=debug', 'debug'],
    ['info,agentgateway::proxy=trace', 'proxy=trace,info'],
    ['', 'off'],
  ])('%j parses as %s', (text, shown) => {
    expect(LogFilter.parse(text).toString()).toBe(shown)
  })

  test.each([
    ['proxy', 3],
    ['proxy::upstream', 5],
    ['proxy::upstream::pool', 5],
    ['proxyish', 2],
    ['mcp', 0],
  ])('the longest module name wins: %s', (module, threshold) => {
    expect(LogFilter.parse('warn,proxy=info,proxy::upstream=trace,mcp=off').thresholdOf(module)).toBe(threshold)
  })

  test.each([
    ['hyper', /A module needs a level: hyper=debug/],
    ['inof', /Did you mean info/],
    ['proxy=verbose', /verbose is not a level/],
    ['proxy=', /no level after the equals sign/],
    ['=debug', /MODULE=LEVEL/],
    ['a=b=debug', /not a level/],
    ['a b=debug', /MODULE=LEVEL/],
  ])('%s is refused', (text, message) => {
    expect(() => LogFilter.parse(text)).toThrow(LogFilterError)
    expect(() => LogFilter.parse(text)).toThrow(message)
  })
})

describe('log lines', () => {
  test('text: tab-separated columns, space-separated fields', () => {
    const { log, text } = start()
    log.logger('proxy').log('info', 'listening', { address: '0.0.0.0:3000', tls: false })
    log.logger('request').log('info', '', { 'http.path': '/a b', 'http.status': 200 })
    expect(text()).toBe(
      '2026-01-15T12:30:45.250Z\tinfo\tproxy\tlistening\taddress=0.0.0.0:3000 tls=false\n' +
        '2026-01-15T12:30:45.250Z\tinfo\trequest\thttp.path="/a b" http.status=200\n',
    )
  })

  test('JSON: one object per line, with the message separate from the fields', () => {
    const { log, text, clock } = start({ format: 'json' })
    clock.advance(12_007)
    log.logger('proxy').child('upstream').log('warn', 'slow\nthing', { ms: 12.5 })
    expect(text().endsWith('\n')).toBe(true)
    expect(JSON.parse(text())).toEqual({
      level: 'warn',
      time: '2026-01-15T12:30:57.257Z',
      scope: 'proxy::upstream',
      message: 'slow\nthing',
      ms: 12.5,
    })
  })

  test.each(['a\nb=c', '\u001b[2Jx', 'tab\tbed', 'x\u2028y', 'say "hi"', 'back\\slash', ''])(
    'a value cannot break out of its field: %j',
    value => {
      const { log, text } = start()
      log.logger('request').log('info', value, { agent: value })
      expect(text().split('\n')).toHaveLength(2)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is the point
      expect(text()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u2028]/)
      expect(text()).toMatch(/agent=".*"\n$/)
    },
  )

  test('batches lines into one write per event loop turn', async () => {
    const written: string[] = []
    const log = new ProcessLog({ clock: new ManualClock(), format: 'text', sink: { write: t => written.push(t) } })
    for (let i = 0; i < 10; i++) log.logger('m').log('info', String(i))
    expect(written).toHaveLength(0)
    await new Promise(setImmediate)
    expect(written).toHaveLength(1)
    expect(written[0]?.split('\n')).toHaveLength(11)
  })

  test('a stalled reader costs no memory and later learns how many lines it missed', () => {
    const { log, sink, text } = start()
    const logger = log.logger('m')
    sink.writableLength = 9 * 1024 * 1024
    for (let i = 0; i < 3; i++) logger.log('error', 'nobody reads this')
    sink.writableLength = 0
    logger.log('info', 'again')
    expect(text()).not.toContain('nobody reads this')
    expect(text()).toContain('lines=3')
    expect(text()).toContain('\tm\tagain\n')
  })
})

test('existing loggers follow a level change at once', () => {
  const { log, text } = start({ filter: 'warn' })
  const logger = log.logger('proxy')
  logger.log('info', 'one')
  log.change('proxy=debug')
  logger.log('debug', 'two')
  log.change('', { reset: true })
  logger.log('info', 'three')
  logger.log('error', 'four')
  expect(text().match(/one|two|three|four/g)).toEqual(['two', 'four'])
  expect(log.filter()).toBe('warn')
})
