const BY_MEDIA_TYPE: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
}
const FORMATS = new Set(Object.values(BY_MEDIA_TYPE))

/** The media type of a format of Bedrock's. */
export function mediaTypeOf(format: string | undefined): string {
  return Object.entries(BY_MEDIA_TYPE).find(([, name]) => name === format)?.[0] ?? 'application/octet-stream'
}

/** Bedrock's name for a document format. Undefined if it is unsupported. */
export function documentFormat(mediaType: string, name: string | undefined): string | undefined {
  const known = Object.hasOwn(BY_MEDIA_TYPE, mediaType) ? BY_MEDIA_TYPE[mediaType] : undefined
  if (known !== undefined) return known
  const extension = /\.(\w+)$/.exec(name ?? '')?.[1]?.toLowerCase()
  return extension !== undefined && FORMATS.has(extension) ? extension : undefined
}

/** Document names that the service accepts, unique within a request. */
export class DocumentNames {
  readonly #used = new Map<string, number>()

  of(name: string | undefined): string {
    const plain = (name ?? '')
      .replace(/\.\w+$/, '')
      .replace(/[^A-Za-z0-9\-()[\] ]+/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
    const base = plain || 'document'
    const count = (this.#used.get(base) ?? 0) + 1
    this.#used.set(base, count)
    return count === 1 ? base : `${base} [${count}]`
  }
}
