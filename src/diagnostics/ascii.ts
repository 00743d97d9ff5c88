/** Whether the locale's character set lacks lines and blocks. */
export function isAsciiOnly(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  // If unset, as in containers, terminals support Unicode all the same.
  return locale !== '' && !/utf-?8/i.test(locale)
}

/** Output to a pipe or file is always the same; a terminal may not support our symbols. */
export function drawable(
  text: string,
  stream: { readonly isTTY?: boolean | undefined },
  env: Readonly<Record<string, string | undefined>>,
): string {
  return stream.isTTY === true && isAsciiOnly(env) ? inAscii(text) : text
}

/** Replaces the symbols we draw, cell for cell. User-provided names are unchanged. */
export function inAscii(text: string): string {
  return text.replaceAll(/[▁▂▃▄▅▆▇█░▸▼▲↓↑←→…─│┌┐└┘✓✗✖·›µ]/g, drawn => ASCII[drawn] ?? drawn)
}

const ASCII: Readonly<Record<string, string>> = {
  '▁': '_',
  '▂': '.',
  '▃': '-',
  '▄': '=',
  '▅': '+',
  '▆': '*',
  '▇': '%',
  '█': '#',
  '░': '.',
  '▸': '>',
  '▼': 'v',
  '▲': '^',
  '…': '~',
  '↓': 'v',
  '↑': '^',
  '←': '<',
  '→': '>',
  '─': '-',
  '│': '|',
  '┌': '+',
  '┐': '+',
  '└': '+',
  '┘': '+',
  '✓': '+',
  '✗': 'x',
  '✖': 'x',
  '·': '.',
  '›': '>',
  µ: 'u',
}
