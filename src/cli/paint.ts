import { Chalk } from 'chalk'
import type { Paint } from '../diagnostics/paint.ts'

/** The 16 base colours only, which follow the terminal's theme. */
export function colorPaint(): Paint {
  const chalk = new Chalk({ level: 1 })
  return {
    error: text => chalk.bold.red(text),
    warning: text => chalk.bold.yellow(text),
    info: text => chalk.bold.cyan(text),
    success: text => chalk.bold.green(text),
    bold: text => chalk.bold(text),
    dim: text => chalk.dim(text),
    caret: text => chalk.red(text),
  }
}
