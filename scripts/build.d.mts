import type { BuildOptions } from 'esbuild'

export const root: string
export function buildOptions(): BuildOptions & { readonly metafile: true }
export function build(esbuild: typeof import('esbuild')): Promise<string[]>
