// Boundaries and data of server-sent events, on raw bytes.

/** The joined `data` lines of one event. Undefined if it has none. */
export function eventData(event: string): string | undefined {
  let data: string | undefined
  for (const line of event.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data:')) continue
    const part = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5)
    data = data === undefined ? part : `${data}\n${part}`
  }
  return data
}

/** The end of the event at `from`, or of the region if the event is incomplete. */
export function eventEnd(region: Buffer, from: number): number {
  const end = firstEventEnd(region, from)
  return end < 0 ? region.length : end
}

/** The end of the last blank line that begins at or after `from`; 0 for none. */
export function lastEventEnd(data: Buffer, from: number): number {
  const n = data.length
  if (n - from >= 2 && data[n - 1] === 0x0a) {
    if (data[n - 2] === 0x0a) return n
    if (data[n - 2] === 0x0d && n - from >= 3 && data[n - 3] === 0x0a) return n
  }
  const region = from === 0 ? data : data.subarray(from)
  const lf = region.lastIndexOf('\n\n')
  const crlf = region.lastIndexOf('\n\r\n')
  const cr = region.lastIndexOf('\r\r')
  const end = Math.max(lf < 0 ? 0 : lf + 2, crlf < 0 ? 0 : crlf + 3, cr < 0 ? 0 : cr + 2)
  return end === 0 ? 0 : from + end
}

/** The end of the first blank line at or after `from`; -1 for none. */
export function firstEventEnd(data: Buffer, from: number): number {
  const lf = data.indexOf('\n\n', from)
  const crlf = data.indexOf('\n\r\n', from)
  const cr = data.indexOf('\r\r', from)
  const ends = [lf < 0 ? -1 : lf + 2, crlf < 0 ? -1 : crlf + 3, cr < 0 ? -1 : cr + 2].filter(end => end >= 0)
  return ends.length === 0 ? -1 : Math.min(...ends)
}

/** Whether `:` and `{` follow, unlike after `"usage": null`. */
export function opensObject(data: Buffer, at: number): boolean {
  const colon = skipSpace(data, at)
  return data[colon] === 0x3a && data[skipSpace(data, colon + 1)] === 0x7b
}

function skipSpace(data: Buffer, at: number): number {
  while (data[at] === 0x20 || data[at] === 0x09 || data[at] === 0x0a || data[at] === 0x0d) at++
  return at
}
