import { describe, expect, test } from 'vitest'
import { parseSource } from '../../src/diagnostics/source.ts'

const PROSE = 'One tool for a gateway.\n\n- it checks: more\n---\n- it runs: less {\n---\nMore of it: and: more\n'
const HTML = '<!DOCTYPE html>\n<html>\n<head><title>404: Not: Found</title></head>\n<body>\n</body>\n</html>\n'

const messages = (file: string, text: string) => parseSource(file, text).diagnostics.map(({ message }) => message)

describe('text that is not configuration', () => {
  test.each([
    ['README.md', PROSE],
    ['build.mjs', "// Bundles.\nimport { a } from 'b'\nexport const c = { d: a }\n"],
    ['gateway.toml', '[server]\nport = 1\n'],
    ['LICENSE', 'Apache License\nVersion 2.0, January 2004\n\nTERMS AND CONDITIONS\n\n1. Definitions: these: mean\n'],
    ['gateway.yaml', HTML],
    ['<stdin>', HTML],
  ])('%s is reported once as neither YAML nor JSON', (file, text) => {
    expect(messages(file, text)).toEqual(['the file is neither YAML nor JSON'])
  })

  test.each([
    ['gateway.yaml', 'binds\n- port: 1\n'],
    ['gateway.conf', 'binds\n- port: 1\n  listeners:\n  - {}\n'],
    ['<stdin>', 'binds\n- port: 1\n'],
    ['gateway.json', '{\n"a": 1,,\n"b": 2\n}\n'],
  ])('%s with a mistake reports that mistake', (file, text) => {
    expect(messages(file, text)).toEqual([expect.stringMatching(/colon|comma/)])
  })

  test('readable text is accepted under any file name', () => {
    expect(messages('gateway.txt', 'binds:\n- port: 1\n')).toEqual([])
  })
})
