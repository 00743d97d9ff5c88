import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import {
  type BrotliOptions,
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzip,
  inflate,
  type ZlibOptions,
  type ZstdOptions,
  zstdDecompress,
} from 'node:zlib'
import { type ErrorCode, GatewayError } from '../http/errors.ts'
import type { ChunkSink } from '../http/transport.ts'

export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** Undefined for none (`identity`), `unknown` for an unsupported one. */
export function contentCoding(header: string | undefined): Coding | 'unknown' | undefined {
  const name = header?.trim().toLowerCase()
  switch (name) {
    case undefined:
    case '':
    case 'identity':
      return undefined
    case 'gzip':
    case 'x-gzip':
      return 'gzip'
    case 'deflate':
    case 'br':
    case 'zstd':
      return name
    default:
      return 'unknown'
  }
}

const DECODE = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress),
  zstd: promisify<Buffer, ZstdOptions, Buffer>(zstdDecompress),
} as const

/** Decodes a whole body. Throws GatewayError: `bodyTooLarge` past `limit`, `invalidRequest` if corrupt. */
export async function decodeWhole(bytes: Buffer, coding: Coding, limit: number): Promise<Buffer> {
  try {
    return await DECODE[coding](bytes, { maxOutputLength: limit })
  } catch (error) {
    const tooLarge = error instanceof RangeError || (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    throw tooLarge
      ? new GatewayError('bodyTooLarge', { cause: error })
      : new GatewayError('invalidRequest', { detail: `the body is not valid ${coding}`, cause: error })
  }
}

const DECODER: Readonly<Record<Coding, () => Transform>> = {
  gzip: () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
}

/**
 * Decodes a body on its way to `to`, with back-pressure: only as much as is read. `damaged`: the error code if decoding
 * fails.
 */
export function decodeInto(to: ChunkSink, coding: Coding, damaged: ErrorCode): ChunkSink {
  const decoder = DECODER[coding]()
  let ended = false
  let trailers: readonly string[] | undefined
  const finish = (then: () => void): void => {
    if (ended) return
    ended = true
    then()
  }
  decoder.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) decoder.pause()
  })
  to.onDrain(() => decoder.resume())
  decoder.on('end', () => finish(() => to.end(trailers)))
  decoder.on('error', cause =>
    finish(() => to.fail(new GatewayError(damaged, { detail: `the body is not valid ${coding}`, cause }))),
  )
  return {
    write: chunk => decoder.write(chunk),
    end(last) {
      trailers = last
      decoder.end()
    },
    fail(error) {
      finish(() => to.fail(error))
      decoder.destroy()
    },
    onDrain(then) {
      decoder.removeAllListeners('drain')
      decoder.on('drain', then)
    },
  }
}
