import { describe, expect, test } from 'vitest'
import { compileRoutes, DEFAULT_ROUTES } from '../../src/llm/route-type.ts'

describe('the route type', () => {
  test.each([
    ['/v1/chat/completions', 'completions'],
    ['/team/v1/chat/completions?api-version=1', 'completions'],
    ['/v1/messages', 'messages'],
    ['/v1/messages/count_tokens', 'anthropicTokenCount'],
    ['/v1/projects/p/models/claude:streamRawPredict', 'messages'],
    ['/v1beta/models/gemini:generateContent', 'generateContent'],
    ['/v1/responses', 'responses'],
    ['/v1/responses/compact', 'detect'],
    ['/v1/realtime?model=gpt-realtime', 'realtime'],
    ['/v1/files', 'passthrough'],
    ['/v1/files?x=/v1/chat/completions', 'passthrough'],
  ])('of %s is %s on the llm listener', (path, type) => {
    expect(compileRoutes(DEFAULT_ROUTES)(path)).toBe(type)
  })

  test('defaults to completions without a map or a match', () => {
    expect(compileRoutes(undefined)('/v1/messages')).toBe('completions')
    expect(compileRoutes({ '/v1/messages': 'messages' })('/other')).toBe('completions')
  })

  test('is that of the longest matching suffix', () => {
    const route = compileRoutes({ '*': 'passthrough', tokens: 'detect', count_tokens: 'anthropicTokenCount' })
    expect(route('/v1/messages/count_tokens')).toBe('anthropicTokenCount')
    expect(route('/tokens')).toBe('detect')
    expect(route('/')).toBe('passthrough')
  })
})
