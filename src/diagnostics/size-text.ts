const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

/** Bytes in the largest unit that is exact, as in configurations: `512Mi`, `1000`. */
export function sizeText(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 1024 && size % 1024 === 0 && unit < UNITS.length - 1) {
    size /= 1024
    unit++
  }
  return `${size}${UNITS[unit]}`
}
