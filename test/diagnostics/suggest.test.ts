import { describe, expect, it } from 'vitest'
import { closest, didYouMean, editDistance } from '../../src/diagnostics/suggest.ts'

describe('suggestions', () => {
  it('finds a swapped, missing, extra or changed letter', () => {
    const fields = ['host', 'weight', 'policies']
    expect(closest('hsot', fields)).toEqual(['host'])
    expect(closest('wight', fields)).toEqual(['weight'])
    expect(closest('policiess', fields)).toEqual(['policies'])
    expect(closest('hos7', fields)).toEqual(['host'])
  })

  it('lists ties and prefers the closest', () => {
    expect(closest('cat', ['car', 'can', 'carts'])).toEqual(['car', 'can'])
    expect(didYouMean('cat', ['car', 'can'])).toBe('did you mean `car` or `can`?')
    expect(didYouMean('colr', ['color', 'colour'])).toBe('did you mean `color`?')
  })

  it('ignores any differences in case and separators', () => {
    expect(closest('allow_origins', ['allowOrigins', 'allowHeaders'])).toEqual(['allowOrigins'])
    expect(closest('MAXBUFFERSIZE', ['max-buffer-size'])).toEqual(['max-buffer-size'])
  })

  it('allows a third of a long word and suggests nothing unrelated', () => {
    expect(closest('localRateLimiting', ['localRateLimit', 'cors'])).toEqual(['localRateLimit'])
    expect(didYouMean('x', ['yz', 'ab', 'y', 'xy'])).toBeUndefined()
    expect(didYouMean('x', ['X'])).toBe('did you mean `X`?')
    expect(didYouMean('backends', ['cors', 'jwtAuth'])).toBeUndefined()
  })

  it('allows one edit in a word of five letters or fewer', () => {
    expect(closest('abc', ['axy', 'abcde', 'a'])).toEqual([])
    expect(closest('rol', ['role', 'rule'])).toEqual(['role'])
    expect(closest('tsl', ['tls', 'tcp'])).toEqual(['tls'])
    expect(closest('nam', ['name'])).toEqual(['name'])
    expect(closest('host', ['port', 'cost', 'hosts'])).toEqual(['cost', 'hosts'])
    expect(closest('csrf', ['cors'])).toEqual([])
  })

  it('counts swapped neighbours as one edit', () => {
    expect(editDistance('hsot', 'host')).toBe(1)
    expect(editDistance('kitten', 'sitting')).toBe(3)
    expect(editDistance('', 'abc')).toBe(3)
    expect(editDistance('abcdef', 'uvwxyz', 2)).toBe(3)
  })
})
