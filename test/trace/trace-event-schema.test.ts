import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { Recorder } from '../tools/events/recorded-events.ts'

const schema = JSON.parse(readFileSync(new URL('../../schemas/trace-event.schema.json', import.meta.url), 'utf8'))
const validate = new Ajv2020({ strict: false }).compile(schema)

const recorder = new Recorder()
recorder.refused()
recorder.add({ type: 'snapshot', stage: 's', state: { status: 200, headers: [['a', 'b']] } })
recorder.add({ type: 'dropped', count: 3 })
const events = recorder.texts.map(text => JSON.parse(text))

describe('the published schema', () => {
  test.each(events.map(event => [event.message.type, event]))('accepts %s', (_, event) => {
    expect(validate(event), JSON.stringify(validate.errors)).toBe(true)
  })

  const [event] = events
  test.each([
    ['a missing sequence number', { ...event, seq: undefined }],
    ['a negative time', { ...event, at: -1 }],
    ['an unknown kind of message', { ...event, message: { type: 'teleport' } }],
    ['a message without its fields', { ...event, message: { type: 'route' } }],
    ['a header without a value', { ...event, message: { type: 'snapshot', stage: 's', state: { headers: [['a']] } } }],
  ])('rejects %s', (_, bad) => {
    expect(validate(JSON.parse(JSON.stringify(bad)))).toBe(false)
  })
})
