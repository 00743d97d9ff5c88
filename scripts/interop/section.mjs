import { readFile, writeFile } from 'node:fs/promises'

/** Replaces one section of a document between its marks, or appends it. `command`: what writes it. */
export async function replaceSection(file, name, command, text) {
  const begin = `<!-- ${name}: written by \`${command}\` -->`
  const end = `<!-- /${name} -->`
  const before = await readFile(file, 'utf8').catch(() => '# Interoperability\n')
  const section = `${begin}\n${text}${end}`
  const start = before.indexOf(begin)
  const after =
    start < 0
      ? `${before.trimEnd()}\n\n${section}\n`
      : before.slice(0, start) + section + before.slice(before.indexOf(end) + end.length)
  await writeFile(file, after)
}
