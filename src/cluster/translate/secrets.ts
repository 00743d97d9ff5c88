import { X509Certificate } from 'node:crypto'
import type { ClusterObject } from '../../policies/parts/cluster-form.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import type { Resource } from '../resources/resource.ts'
import { nameOf } from './cluster-view.ts'
import type { DataEntry, Work } from './work.ts'

/** Decoded bytes of a data key. Undefined if it is missing. */
export function dataOf(resource: ClusterObject, key: string): Buffer | undefined {
  const plain = asFields(resource.raw.stringData)?.[key]
  if (typeof plain === 'string') return Buffer.from(plain)
  const value = asFields(resource.raw.data)?.[key]
  if (typeof value === 'string') return Buffer.from(value, resource.kind.kind === 'Secret' ? 'base64' : 'utf8')
  const binary = asFields(resource.raw.binaryData)?.[key]
  return typeof binary === 'string' ? Buffer.from(binary, 'base64') : undefined
}

export function dataKeysOf(resource: ClusterObject): readonly string[] {
  const keys = ['data', 'stringData', 'binaryData'].flatMap(field => Object.keys(asFields(resource.raw[field]) ?? {}))
  return [...new Set(keys)].sort()
}

/** The placeholder for a secret that must not be written. */
function redactedSecret(namespace: string, name: string, key: string): string {
  return `<redacted: Secret ${namespace}/${name}, key ${key}>`
}

/** Reads data that a policy or backend references; missing data becomes an error of that resource. */
export class SecretReader {
  readonly #work: Work
  readonly #holder: Resource
  readonly #errors: string[]

  constructor(work: Work, holder: Resource, errors: string[]) {
    this.#work = work
    this.#holder = holder
    this.#errors = errors
  }

  /** The trimmed text of the key in `ref`. Undefined, with an error, if there is none. */
  text(ref: Fields, defaultKey: string): string | undefined {
    const name = asText(ref.name) ?? ''
    const namespace = this.#holder.namespace ?? ''
    const key = asText(ref.key) ?? defaultKey
    if (asText(ref.kind) !== undefined && ref.kind !== 'Secret') {
      this.#errors.push(`${String(ref.kind)} ${namespace}/${name} needs a resolver that this controller does not have`)
      return undefined
    }
    const secret = this.secret(name)
    if (!secret) return undefined
    const value = dataOf(secret, key)?.toString('utf8').trim()
    if (value === undefined || value === '') {
      this.#errors.push(`secret ${namespace}/${name} missing ${key} value`)
      return undefined
    }
    return value
  }

  /** Like `text`, in the form that may be written. */
  shown(ref: Fields, defaultKey: string, change: (text: string) => string = text => text): string | undefined {
    const value = this.text(ref, defaultKey)
    if (value === undefined || this.#work.options.withSecrets) return value === undefined ? undefined : change(value)
    return redactedSecret(this.#holder.namespace ?? '', String(ref.name), asText(ref.key) ?? defaultKey)
  }

  secret(name: string): Resource | undefined {
    const namespace = this.#holder.namespace ?? ''
    const secret = this.#work.cluster.find('Secret', namespace, name)
    if (!secret && !this.#work.options.partial) this.#errors.push(`secret ${namespace}/${name} not found`)
    return secret
  }

  configMap(name: string): Resource | undefined {
    const namespace = this.#holder.namespace ?? ''
    const map = this.#work.cluster.find('ConfigMap', namespace, name)
    if (!map && !this.#work.options.partial) this.#errors.push(`ConfigMap ${namespace}/${name} not found`)
    return map
  }

  /** The path of a data entry. Undefined if it does not exist or files cannot be referenced. */
  file(resource: ClusterObject, key: string): string | undefined {
    const bytes = dataOf(resource, key)
    if (bytes === undefined) {
      const kind = resource.kind.kind === 'Secret' ? 'secret' : resource.kind.kind
      this.#errors.push(`${kind} ${resource.namespace}/${resource.name} missing ${key} value`)
      return undefined
    }
    if (/^ca\./.test(key) && !holdsCertificates(bytes)) {
      this.#errors.push(`${key} of ${resource.kind.kind} ${nameOf(resource)} holds no certificate that can be read`)
      return undefined
    }
    return fileOf(this.#work, resource, key, bytes)
  }
}

/** Undefined if the translation may not reference files. */
export function fileOf(work: Work, resource: ClusterObject, key: string, bytes: Buffer): string | undefined {
  const entry: DataEntry = {
    kind: resource.kind.kind,
    namespace: resource.namespace ?? '',
    name: resource.name ?? '',
    key,
    bytes,
  }
  const path = work.options.filePath?.(entry)
  if (path !== undefined) work.files.set(path, entry)
  return path
}

/** Whether a PEM bundle is non-empty and all its certificates are readable. */
export function holdsCertificates(bytes: Buffer | undefined): boolean {
  const blocks = bytes?.toString('latin1').match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  return blocks.length > 0 && blocks.every(isCertificate)
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined
  } catch {
    return false
  }
}
