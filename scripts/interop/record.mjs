// The section of docs/interop.md about the API server: what was compared, with which versions, and what came of it.
import { readFile, writeFile } from 'node:fs/promises'

const BEGIN = '<!-- kubernetes: written by `npm run interop -- --record` -->'
const END = '<!-- /kubernetes -->'

/** Replaces the section between its marks, or appends it. */
export async function record(file, result) {
  const before = await readFile(file, 'utf8').catch(() => '# Interoperability\n')
  const section = `${BEGIN}\n${text(result)}${END}`
  const start = before.indexOf(BEGIN)
  const after =
    start < 0
      ? `${before.trimEnd()}\n\n${section}\n`
      : before.slice(0, start) + section + before.slice(before.indexOf(END) + END.length)
  await writeFile(file, after)
}

function text({ kubernetes, gatewayApi, definitions, sets, translations }) {
  const rows = sets.map(
    ({ name, resources, same, refused, beyond, unknown }) =>
      `| ${name} | ${resources} | ${same} | ${refused} | ${beyond} | ${unknown} |`,
  )
  const accepted = definitions.filter(({ problem }) => !problem).length
  return `## Kubernetes

kube-apiserver ${kubernetes} with the Gateway API ${gatewayApi} (experimental channel), started by \`npm run interop\`:

- ${accepted} of ${definitions.length} CustomResourceDefinitions of \`gwctl crds\` are accepted by a server-side apply and established: under their own names, under a group of one's own (\`--group\`) and under the public names (\`--public\`).
- Each resource is created in a strict dry run (\`?dryRun=All&fieldValidation=Strict\`), and its verdict is compared with that of the checks behind \`gwctl validate --partial\`.
- The ${translations.files} cases of \`fixtures/translate\` are applied, one after another; \`gwctl translate --from-cluster -A\` comes to the same bytes as \`gwctl translate -f\` in ${translations.same} of them.

| Resources of | compared | same verdict | refused by both | accepted by the server, with findings that it cannot make | of kinds that the server does not know |
|---|---|---|---|---|---|
${rows.join('\n')}

Kinds that the server does not know are misspelt ones, and InferencePool. Findings that an API server cannot make are those about references, attachment, patterns and the types of expressions.
${differences(sets)}`
}

function differences(sets) {
  const all = sets.flatMap(({ name, differ }) => differ.map(each => ({ set: name, ...each })))
  if (all.length === 0) return ''
  const lines = all.map(({ set, name, label, server, own }) => {
    const said = server.accepted
      ? `only gwctl refuses it: ${own.messages.join('; ')}`
      : `only the server refuses it: ${server.message}`
    return `- ${set}, ${name}, ${label}: ${said}`
  })
  return `\nDifferences:\n\n${lines.join('\n')}\n`
}
