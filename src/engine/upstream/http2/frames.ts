// RFC 9113: frame types and flags, settings, error codes.

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

export const ACK = 0x1
export const END_STREAM = 0x1
export const END_HEADERS = 0x4
export const PADDED = 0x8
export const PRIORITIZED = 0x20

export const HEADER_TABLE_SIZE = 1
export const ENABLE_PUSH = 2
export const MAX_CONCURRENT_STREAMS = 3
export const INITIAL_WINDOW_SIZE = 4
export const MAX_FRAME_SIZE = 5
export const MAX_HEADER_LIST_SIZE = 6

export const NO_ERROR = 0
export const PROTOCOL_ERROR = 1
export const INTERNAL_ERROR = 2
export const FLOW_CONTROL_ERROR = 3
export const FRAME_SIZE_ERROR = 6
export const REFUSED_STREAM = 7
export const CANCEL = 8
export const COMPRESSION_ERROR = 9
export const ENHANCE_YOUR_CALM = 11

/** Bytes of a frame header, of a payload by default, of the initial window, and of the largest window. */
export const FRAME_HEAD = 9
export const FRAME_SIZE = 16_384
export const FIRST_WINDOW = 65_535
export const LARGEST = 2 ** 31 - 1

/** A connection error: the server has violated the protocol. */
export class BrokenConnection extends Error {
  readonly code: number

  /** `what`: shown to users of the gateway. */
  constructor(code: number, what: string) {
    super(what)
    this.code = code
  }
}
