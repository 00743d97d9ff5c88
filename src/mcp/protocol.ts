/** The gateway's own revision where no client has named one. */
export const LATEST_SESSION_VERSION = '2025-11-25'
/** Each request is self-contained. */
export const STATELESS_VERSION = '2026-07-28'
