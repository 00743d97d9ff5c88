export const root: string
export function packageJson(): { readonly version: string }
export function assemble(folder: string, inputs: readonly string[]): void
