/** Numbers for narrow columns: two significant digits, `-` for zero, at most six cells. */
export function rate(value: number): string {
  if (value < 0.05) return value > 0 ? '<0.1' : '-'
  return value < 9.95 ? value.toFixed(1) : count(Math.round(value))
}

/** In running text, zero is `0`. */
export function rateInText(value: number): string {
  return value === 0 ? '0' : rate(value)
}

export function count(value: number): string {
  const step = value < 10_000 ? 0 : Math.min(3, Math.floor(Math.log10(value) / 3))
  return step === 0 ? String(value) : `${scaled(value / 1000 ** step)}${['', 'k', 'M', 'G'][step]}`
}

export function bytes(value: number): string {
  if (value < 0.5) return '-'
  const step = Math.min(4, Math.max(0, Math.floor(Math.log10(value) / 3)))
  return `${step === 0 ? Math.round(value) : scaled(value / 1000 ** step)}${['B', 'kB', 'MB', 'GB', 'TB'][step]}`
}

export function milliseconds(value: number | undefined): string {
  if (value === undefined) return '-'
  if (value < 9.95) return `${value.toFixed(1)}ms`
  return value < 999.5 ? `${Math.round(value)}ms` : `${scaled(value / 1000)}s`
}

/** Seconds as `2h13m`, in the two largest units. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [minutes, hours, days] = [Math.floor(whole / 60), Math.floor(whole / 3600), Math.floor(whole / 86_400)]
  if (minutes === 0) return `${whole}s`
  if (hours === 0) return `${minutes}m${whole % 60}s`
  return days === 0 ? `${hours}h${minutes % 60}m` : `${days}d${hours % 24}h`
}

/** `part` from 0 to 1: empty only at 0, full only at 1. */
export function bar(part: number, width: number): string {
  const full = part <= 0 ? 0 : part >= 1 ? width : Math.min(width - 1, Math.max(1, Math.round(part * width)))
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/** As many of the last values as fit, scaled to the highest. */
export function sparkline(values: readonly (number | undefined)[], width: number): string {
  const shown = width <= 0 ? [] : values.slice(-width)
  const highest = Math.max(...shown.map(value => value ?? 0), 0)
  const level = (value: number) => (highest === 0 ? 0 : Math.round((value / highest) * (LEVELS.length - 1)))
  return shown.map(value => (value === undefined ? ' ' : LEVELS[level(value)])).join('')
}

const LEVELS = '▁▂▃▄▅▆▇█'

function scaled(value: number): string {
  return value < 9.95 ? value.toFixed(1) : String(Math.round(value))
}
