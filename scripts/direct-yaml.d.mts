import type { Plugin } from 'esbuild'

export const directYaml: Plugin
/** What the bundle takes instead of a file of the library; undefined where it takes the file. */
export function direct(file: string, text: string): string | undefined
