/** A number from 0 to `below`, the same sequence for the same seed. */
export type Dice = (below: number) => number

export function diceOf(seed: number): Dice {
  let state = (seed * 2654435761) >>> 0 || 1
  return below => {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % below
  }
}

/** What parsers disagree about. */
const PIECES = [
  ...[
    '\r\n',
    '\n',
    '\r',
    '\0',
    ' ',
    '\t',
    ':',
    ',',
    ';',
    '=',
    '"',
    '\\',
    '/',
    '#',
    '?',
    '%',
    '%00',
    '%0d%0a',
    '\u000b',
    '\u007f',
    '\u0080',
    '\u00ff',
    '\r\n\r\n',
    '\n\n',
  ],
  ...[
    '\r\nTransfer-Encoding: chunked',
    '\r\nTransfer-Encoding: chunked, identity',
    '\r\nTransfer-Encoding : chunked',
    '\r\nContent-Length: 0',
    '\r\nContent-Length: 5',
    '\r\nContent-Length: +5',
    '\r\nContent-Length: 5, 5',
  ],
  ...[
    '\r\nConnection: close',
    '\r\nConnection: upgrade',
    '\r\nUpgrade: h2c',
    '\r\nUpgrade: websocket',
    '\r\nExpect: 100-continue',
    '\r\nHost: b',
    '\r\n folded',
    '\r\n: a',
    '\r\nTE: trailers',
    '\r\nTrailer: x',
  ],
  ...[
    '0\r\n\r\n',
    '5\r\nhello\r\n',
    'ffffffffffffffff\r\n',
    '-1',
    '1e3',
    '00',
    '0x5',
    'HTTP/1.1',
    'HTTP/1.0',
    'HTTP/2.0',
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    '../',
    '//',
    '@',
    '[::1]',
  ],
]

/** `text`, every character one byte, changed at one to three places. */
export function mutated(text: string, dice: Dice): string {
  let out = text
  for (let left = 1 + dice(3); left > 0; left--) out = changed(out, dice)
  return out
}

function changed(text: string, dice: Dice): string {
  const at = dice(text.length + 1)
  const size = 1 + dice(8)
  switch (dice(9)) {
    case 0:
      return text.slice(0, at) + String.fromCharCode(dice(256)) + text.slice(at + 1)
    case 1:
      return text.slice(0, at) + String.fromCharCode(dice(256)) + text.slice(at)
    case 2:
      return text.slice(0, at) + text.slice(at + size)
    case 3:
      return text.slice(0, at) + text.slice(dice(text.length + 1)).slice(0, 40) + text.slice(at)
    case 4:
      return dice(4) === 0 ? text.slice(0, at) : text
    case 5:
      return text.slice(0, at) + (text[at] ?? 'a').repeat(1 + dice(300)) + text.slice(at)
    default:
      return text.slice(0, at) + PIECES[dice(PIECES.length)] + text.slice(at + (dice(2) === 0 ? 0 : size))
  }
}
