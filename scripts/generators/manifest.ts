import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Plugin } from '@oclif/core/config'
import type { Generator } from './generator.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** oclif.manifest.json, by oclif itself, from the sources: no build has to come first. */
export const manifest: Generator = {
  name: 'manifest',
  async outputs() {
    const stage = await mkdtemp(join(tmpdir(), 'gwctl-manifest-'))
    try {
      await stageCommands(stage)
      const plugin = new Plugin({
        root: stage,
        type: 'core',
        isRoot: true,
        ignoreManifest: true,
        errorOnManifestCreate: true,
      })
      await plugin.load()
      return new Map([['oclif.manifest.json', `${JSON.stringify(plugin.manifest, null, 2)}\n`]])
    } finally {
      await rm(stage, { recursive: true })
    }
  },
}

/** oclif looks for commands where package.json says; there it finds modules that hand on the sources. */
async function stageCommands(stage: string): Promise<void> {
  const target = join(stage, 'dist', 'commands')
  await mkdir(target, { recursive: true })
  await copyFile(join(root, 'package.json'), join(stage, 'package.json'))
  for (const file of (await readdir(join(root, 'commands'))).sort()) {
    const source = pathToFileURL(join(root, 'commands', file)).href
    await writeFile(join(target, file.replace(/\.tsx?$/, '.js')), `export { default } from ${JSON.stringify(source)}\n`)
  }
}
