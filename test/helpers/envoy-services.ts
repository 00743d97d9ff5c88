import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { parse } from 'protobufjs'

/** Messages of Envoy's services as Envoy publishes them: numbers and types verbatim; what nobody here reads is left out. */
const ENVOY_PROTO = `
syntax = "proto3";
package envoy;
message Struct { map<string, Value> fields = 1; }
message Value {
  oneof kind {
    int32 null_value = 1; double number_value = 2; string string_value = 3; bool bool_value = 4;
    Struct struct_value = 5; ListValue list_value = 6;
  }
}
message ListValue { repeated Value values = 1; }
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message BoolValue { bool value = 1; }
message UInt64Value { uint64 value = 1; }
message RpcStatus { int32 code = 1; string message = 2; }
message HttpStatus { int32 code = 1; }
message HeaderValue { string key = 1; string value = 2; bytes raw_value = 3; }
message HeaderMap { repeated HeaderValue headers = 1; }
message HeaderValueOption { HeaderValue header = 1; BoolValue append = 2; int32 append_action = 3; }
message Metadata { map<string, Struct> filter_metadata = 1; }

message SocketAddress { int32 protocol = 1; string address = 2; uint32 port_value = 3; }
message Address { SocketAddress socket_address = 1; }
message Peer { Address address = 1; string service = 2; string principal = 4; string certificate = 5; }
message HttpRequest {
  string id = 1; string method = 2; map<string, string> headers = 3; string path = 4; string host = 5; string scheme = 6;
  string query = 7; string fragment = 8; int64 size = 9; string protocol = 10; string body = 11; bytes raw_body = 12;
}
message Request { Timestamp time = 1; HttpRequest http = 2; }
message AttributeContext {
  Peer source = 1; Peer destination = 2; Request request = 4; map<string, string> context_extensions = 10;
  Metadata metadata_context = 11;
}
message CheckRequest { AttributeContext attributes = 1; }
message DeniedHttpResponse { HttpStatus status = 1; repeated HeaderValueOption headers = 2; string body = 3; }
message QueryParameter { string key = 1; string value = 2; }
message OkHttpResponse {
  repeated HeaderValueOption headers = 2; Struct dynamic_metadata = 3; repeated string headers_to_remove = 5;
  repeated HeaderValueOption response_headers_to_add = 6; repeated QueryParameter query_parameters_to_set = 7;
  repeated string query_parameters_to_remove = 8;
}
message CheckResponse {
  RpcStatus status = 1; DeniedHttpResponse denied_response = 2; OkHttpResponse ok_response = 3;
  Struct dynamic_metadata = 4;
}

message Entry { string key = 1; string value = 2; }
message RateLimitOverride { uint32 requests_per_unit = 1; int32 unit = 2; }
message RateLimitDescriptor { repeated Entry entries = 1; RateLimitOverride limit = 2; UInt64Value hits_addend = 3; }
message RateLimitRequest { string domain = 1; repeated RateLimitDescriptor descriptors = 2; uint32 hits_addend = 3; }
message RateLimit { string name = 3; uint32 requests_per_unit = 1; int32 unit = 2; }
message DescriptorStatus {
  int32 code = 1; RateLimit current_limit = 2; uint32 limit_remaining = 3; Duration duration_until_reset = 4;
}
message RateLimitResponse {
  int32 overall_code = 1; repeated DescriptorStatus statuses = 2; repeated HeaderValue response_headers_to_add = 3;
  repeated HeaderValue request_headers_to_add = 4; bytes raw_body = 5; Struct dynamic_metadata = 6;
}

message ProcessingMode {
  int32 request_header_mode = 1; int32 response_header_mode = 2; int32 request_body_mode = 3;
  int32 response_body_mode = 4; int32 request_trailer_mode = 5; int32 response_trailer_mode = 6;
}
message ProtocolConfiguration { int32 request_body_mode = 1; int32 response_body_mode = 2; }
message HttpHeaders { HeaderMap headers = 1; bool end_of_stream = 3; }
message HttpBody { bytes body = 1; bool end_of_stream = 2; }
message HttpTrailers { HeaderMap trailers = 1; }
message ProcessingRequest {
  HttpHeaders request_headers = 2; HttpHeaders response_headers = 3; HttpBody request_body = 4;
  HttpBody response_body = 5; HttpTrailers request_trailers = 6; HttpTrailers response_trailers = 7;
  Metadata metadata_context = 8; map<string, Struct> attributes = 9; ProtocolConfiguration protocol_config = 11;
}
message HeaderMutation { repeated HeaderValueOption set_headers = 1; repeated string remove_headers = 2; }
message StreamedBodyResponse { bytes body = 1; bool end_of_stream = 2; }
message BodyMutation { bytes body = 1; bool clear_body = 2; StreamedBodyResponse streamed_response = 3; }
message CommonResponse {
  int32 status = 1; HeaderMutation header_mutation = 2; BodyMutation body_mutation = 3; HeaderMap trailers = 4;
  bool clear_route_cache = 5;
}
message HeadersResponse { CommonResponse response = 1; }
message BodyResponse { CommonResponse response = 1; }
message TrailersResponse { HeaderMutation header_mutation = 1; }
message GrpcStatus { uint32 status = 1; }
message ImmediateResponse {
  HttpStatus status = 1; HeaderMutation headers = 2; bytes body = 3; GrpcStatus grpc_status = 4; string details = 5;
}
message ProcessingResponse {
  HeadersResponse request_headers = 1; HeadersResponse response_headers = 2; BodyResponse request_body = 3;
  BodyResponse response_body = 4; TrailersResponse request_trailers = 5; TrailersResponse response_trailers = 6;
  ImmediateResponse immediate_response = 7; Struct dynamic_metadata = 8; ProcessingMode mode_override = 9;
}

message McpHeader { string key = 1; bytes value = 2; }
message McpRequest {
  repeated string service_names = 1; string method = 2; Struct metadata_context = 3; optional bytes mcp_request = 4;
  repeated McpHeader headers = 5;
}
message McpResponse {
  repeated string service_names = 1; string method = 2; Struct metadata_context = 3; bytes mcp_response = 4;
}
message McpPass {}
message AuthorizationError { int32 code = 1; string reason = 2; bytes mcp_error = 3; }
message McpHeaderMutation { repeated McpHeader set = 1; repeated string remove = 2; }
message McpRequestResult {
  oneof result { McpPass pass = 1; bytes mutated = 2; AuthorizationError error = 3; }
  McpHeaderMutation header_mutation = 4; Struct metadata = 5;
}
message McpResponseResult { oneof result { McpPass pass = 1; bytes mutated = 2; AuthorizationError error = 3; } }
`
const { root } = parse(ENVOY_PROTO, { keepCase: false })

/** A message as protobufjs writes and reads it, in camel case. */
// biome-ignore lint/suspicious/noExplicitAny: tests look at messages as plain data
export type Plain = any

const serialize = (type: string) => (value: Plain) =>
  Buffer.isBuffer(value)
    ? value
    : Buffer.from(root.lookupType(type).encode(root.lookupType(type).fromObject(value)).finish())
const deserialize = (type: string) => (from: Buffer) =>
  root.lookupType(type).toObject(root.lookupType(type).decode(from), { longs: Number, defaults: false })

const method = (path: string, request: string, response: string, streams = false) => ({
  path,
  requestStream: streams,
  responseStream: streams,
  requestSerialize: serialize(request),
  requestDeserialize: deserialize(request),
  responseSerialize: serialize(response),
  responseDeserialize: deserialize(response),
})

const SERVICES: ServiceDefinition = {
  check: method('/envoy.service.auth.v3.Authorization/Check', 'envoy.CheckRequest', 'envoy.CheckResponse'),
  shouldRateLimit: method(
    '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    'envoy.RateLimitRequest',
    'envoy.RateLimitResponse',
  ),
  process: method(
    '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    'envoy.ProcessingRequest',
    'envoy.ProcessingResponse',
    true,
  ),
  checkRequest: method('/agentgateway.dev.ext_mcp.ExtMcp/CheckRequest', 'envoy.McpRequest', 'envoy.McpRequestResult'),
  checkResponse: method(
    '/agentgateway.dev.ext_mcp.ExtMcp/CheckResponse',
    'envoy.McpResponse',
    'envoy.McpResponseResult',
  ),
}

/** A failure of the call itself; a Buffer goes out as it is, and undefined means no answer at all. */
export type Answer = Plain | { readonly code: number; readonly details: string } | undefined

export interface EnvoyServices extends AsyncDisposable {
  readonly host: string
  /** What was asked, in order. */
  readonly asked: Plain[]
  readonly metadata: Metadata[]
}

export interface ProcessCall {
  write(response: Plain): void
  end(): void
  emit(event: 'error', error: { readonly code: number; readonly details: string }): void
}

/** A server of Envoy's protocols, on Google's own implementation of gRPC. */
export async function startEnvoyServices(services: {
  readonly check?: (request: Plain) => Answer
  readonly shouldRateLimit?: (request: Plain) => Answer
  readonly checkRequest?: (request: Plain) => Answer
  readonly checkResponse?: (request: Plain) => Answer
  readonly process?: (request: Plain, call: ProcessCall) => void
}): Promise<EnvoyServices> {
  const asked: Plain[] = []
  const metadata: Metadata[] = []
  const unary =
    (answer: (request: Plain) => Answer = () => ({ code: 12, details: 'not here' })) =>
    (call: { request: Plain; metadata: Metadata }, done: (error: Plain, reply?: Plain) => void) => {
      asked.push(call.request)
      metadata.push(call.metadata)
      const reply = answer(call.request)
      if (reply === undefined) return
      if (reply.details === undefined) done(null, reply)
      else done(reply)
    }
  const server = new Server({ 'grpc.max_receive_message_length': -1 })
  server.addService(SERVICES, {
    check: unary(services.check),
    shouldRateLimit: unary(services.shouldRateLimit),
    checkRequest: unary(services.checkRequest),
    checkResponse: unary(services.checkResponse),
    process(call: Plain) {
      metadata.push(call.metadata)
      call.on('data', (request: Plain) => {
        asked.push(request)
        services.process?.(request, call)
      })
      call.on('end', () => call.end())
      call.on('error', () => {})
    },
  } as UntypedServiceImplementation)
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  return { host: `127.0.0.1:${port}`, asked, metadata, [Symbol.asyncDispose]: async () => server.forceShutdown() }
}

/** `google.protobuf.Struct` of a flat object of texts. */
export function structOf(values: Readonly<Record<string, string>>): Plain {
  return { fields: Object.fromEntries(Object.entries(values).map(([name, stringValue]) => [name, { stringValue }])) }
}
