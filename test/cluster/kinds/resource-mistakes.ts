import { readdirSync, readFileSync } from 'node:fs'
import { type Document, isMap, isSeq, type Node, parseAllDocuments, type YAMLMap } from 'yaml'
import { kindFor } from '../../../src/cluster/kinds/index.ts'
import { type Mistake, mistakesIn, type Root, randomFrom, sampleValues } from '../../acceptance/single-mistakes.ts'

const folder = new URL('../../../fixtures/k8s/ok/', import.meta.url)

/** Every single mistake in the valid resources of the fixtures, in an order that the seed makes. */
export function mistakesInResources(seed: number): readonly Mistake[] {
  const random = randomFrom(seed)
  const files = readdirSync(folder)
    .sort()
    .map(name => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }))
  const samples = sampleValues(
    files.map(({ text }) => text),
    rootsOf,
  )
  const all = files.flatMap(({ name, text }) => mistakesIn(name, text, samples, random, rootsOf))
  return all
    .map(mistake => [random(), mistake] as const)
    .sort(([a], [b]) => a - b)
    .map(([, mistake]) => mistake)
}

/** The resources of a text, whether they stand alone or in lists. */
function rootsOf(text: string): readonly Root[] {
  return (parseAllDocuments(text) as Document[]).flatMap(document =>
    isMap(document.contents) ? resourcesIn(document.contents, document) : [],
  )
}

function resourcesIn(map: YAMLMap, document: Document, listKind?: string): readonly Root[] {
  const kindName = String(map.get('kind') ?? listKind)
  const items = map.get('items')
  if (isSeq(items)) {
    const item = kindName === 'List' ? undefined : kindName.replace(/List$/, '')
    return items.items.flatMap(each => (isMap(each) ? resourcesIn(each, document, item) : []))
  }
  const group = String(map.get('apiVersion') ?? 'agentgateway.dev/v1alpha1')
    .split('/')
    .slice(0, -1)
    .join('/')
  const kind = kindFor(group, kindName)
  return kind ? [{ declared: kind.schema.node, node: map as Node, document, name: kindName }] : []
}
