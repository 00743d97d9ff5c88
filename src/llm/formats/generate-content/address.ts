/** Google's formats have the model and the stream flag in the path. */
export interface PathAddress {
  readonly model: string
  readonly stream: boolean
}

const ADDRESS =
  /\/((?:tuned)?[mM]odels)\/([^/:?]+(?:\/[^/:?]+)*):(generateContent|streamGenerateContent|countTokens)(?:\?|$)/

/** Undefined for any other path. */
export function addressIn(path: string): PathAddress | undefined {
  const match = ADDRESS.exec(path)
  if (!match) return undefined
  const [, folder = '', id = '', method] = match
  let name: string
  try {
    name = decodeURIComponent(id)
  } catch {
    return undefined
  }
  return { model: folder === 'models' ? name : `${folder}/${name}`, stream: method === 'streamGenerateContent' }
}

/** Relative to a provider's base path, such as `/v1beta`. */
export function pathFor(method: 'generate' | 'count', { model, stream }: PathAddress): string {
  const id = (folder: string, name: string): string => `/${folder}/${encodeURIComponent(name)}`
  const tuned = model.startsWith('tunedModels/')
  const at = tuned
    ? id('tunedModels', model.slice('tunedModels/'.length))
    : id('models', model.replace(/^models\//, ''))
  if (method === 'count') return `${at}:countTokens`
  return stream ? `${at}:streamGenerateContent?alt=sse` : `${at}:generateContent`
}
