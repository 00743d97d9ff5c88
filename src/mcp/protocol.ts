/** What the gateway speaks for itself where no client has said which. */
export const LATEST_SESSION_VERSION = '2025-11-25'
/** Each request stands for itself. */
export const STATELESS_VERSION = '2026-07-28'
