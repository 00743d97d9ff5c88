/** Whether the environment names a character set that has no more than ASCII for lines and blocks. */
export function isAsciiOnly(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  // Where nothing is said, as in containers, terminals know Unicode all the same.
  return locale !== '' && !/utf-?8/i.test(locale)
}

/** What goes into a pipe or a file is the same everywhere; a terminal may not know our marks and arrows. */
export function drawable(
  text: string,
  stream: { readonly isTTY?: boolean | undefined },
  env: Readonly<Record<string, string | undefined>>,
): string {
  return stream.isTTY === true && isAsciiOnly(env) ? inAscii(text) : text
}

/** What we draw with, one cell for one cell. Names of users stay as they are. */
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
