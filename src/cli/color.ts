import { type Paint, plainPaint } from '../diagnostics/paint.ts'
import type { Io, Output } from './io.ts'

/** 0 for none, 1 for the 16 base colours: others may be unreadable on some backgrounds. */
export type ColorLevel = 0 | 1

/**
 * The flag overrides the environment, which overrides the terminal. NO_COLOR applies if it is not empty (no-color.org);
 * FORCE_COLOR=0 disables colours.
 */
export function colorLevel(stream: Output, env: Io['env'], noColorFlag: boolean): ColorLevel {
  if (noColorFlag || env.NO_COLOR) return 0
  const force = env.FORCE_COLOR
  if (force !== undefined) return force === '0' || force === 'false' ? 0 : 1
  return stream.isTTY === true && env.TERM !== 'dumb' ? 1 : 0
}

/** chalk is loaded only if there is something to colour: most runs write to a pipe or a log. */
export async function paintFor(level: ColorLevel): Promise<Paint> {
  if (level === 0) return plainPaint
  const { colorPaint } = await import('./paint.ts')
  return colorPaint()
}
