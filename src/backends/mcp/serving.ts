// What serves MCP, loaded with the first configuration that is served: checking a file takes none of it.
export { McpEndpoint } from './endpoint.ts'
export { SessionStore } from './eras/sessions/session-store.ts'
export { SharedTargets } from './eras/stateless/shared-targets.ts'
export { HttpConnection } from './http-connection.ts'
export { OpenApiConnection } from './openapi-connection.ts'
export { SseConnection } from './sse-connection.ts'
export { StdioConnection } from './stdio.ts'
