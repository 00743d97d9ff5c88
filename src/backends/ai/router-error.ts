import { GatewayError } from '../../http/errors.ts'

/** Errors of the model router itself (llm.md 2.5): status, code, message. */
const ROUTER_ERRORS = {
  invalid_request_body: [400, 'LLM request body must be valid JSON'],
  request_body_decode_failed: [400, 'LLM request body could not be decoded'],
  request_body_read_failed: [400, 'LLM request body could not be read'],
  unsupported_content_encoding: [415, 'LLM request body has an unsupported content encoding'],
  missing_model: [400, "LLM request body is missing string field 'model'"],
  invalid_model: [400, "LLM request form field 'model' is invalid"],
  request_body_too_large: [413, 'LLM request body exceeded the buffer limit'],
  model_not_found: [404, 'Model not found'],
  virtual_model_no_matching_target: [400, 'Virtual model did not match any conditional target'],
  virtual_model_target_not_found: [404, 'Virtual model target not found'],
} as const satisfies Record<string, readonly [number, string]>
export type RouterErrorCode = keyof typeof ROUTER_ERRORS

/** In the format of OpenAI's API; the outer `type` makes it valid for Anthropic's too. */
export function routerError(code: RouterErrorCode, message: string = ROUTER_ERRORS[code][1]): GatewayError {
  const [status] = ROUTER_ERRORS[code]
  const text = JSON.stringify({ type: 'error', error: { message, type: 'invalid_request_error', param: null, code } })
  return new GatewayError('llmRequest', { status, detail: message, body: { type: 'application/json', text } })
}

/** A failure to read the request body, as the router reports it. */
export function bodyError(error: unknown): GatewayError {
  if (!(error instanceof GatewayError)) throw error
  switch (error.code) {
    case 'bodyTooLarge':
      return routerError('request_body_too_large')
    case 'bodyUnreadable':
      return routerError('request_body_read_failed')
    case 'invalidRequest':
      return routerError('request_body_decode_failed')
    case 'llmRequest':
      return routerError(error.status === 415 ? 'unsupported_content_encoding' : 'invalid_request_body')
    default:
      return error
  }
}
