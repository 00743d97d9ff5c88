/** Colors, applied last; they never change the text. The CLI decides whether to use any. */
export interface Paint {
  error(text: string): string
  warning(text: string): string
  info(text: string): string
  success(text: string): string
  bold(text: string): string
  /** Gutters, line numbers, places. */
  dim(text: string): string
  /** The underline and its label. */
  caret(text: string): string
}

const same = (text: string): string => text

export const plainPaint: Paint = {
  error: same,
  warning: same,
  info: same,
  success: same,
  bold: same,
  dim: same,
  caret: same,
}
