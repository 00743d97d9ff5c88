// Services on Envoy's own protos: ext_authz and ext_proc, each on a port of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	modes "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	proc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
)

func field(name, value string) *core.HeaderValueOption {
	return &core.HeaderValueOption{Header: &core.HeaderValue{Key: name, Value: value}}
}

type authorizer struct {
	auth.UnimplementedAuthorizationServer
}

// Lets `x-user` pass, and tells the backend and expressions what it saw.
func (authorizer) Check(_ context.Context, req *auth.CheckRequest) (*auth.CheckResponse, error) {
	http := req.GetAttributes().GetRequest().GetHttp()
	user := http.GetHeaders()["x-user"]
	if user == "" {
		return &auth.CheckResponse{
			Status: &status.Status{Code: 16},
			HttpResponse: &auth.CheckResponse_DeniedResponse{DeniedResponse: &auth.DeniedHttpResponse{
				Status:  &kind.HttpStatus{Code: kind.StatusCode_Unauthorized},
				Headers: []*core.HeaderValueOption{field("www-authenticate", "Custom")},
				Body:    "who are you?",
			}},
		}, nil
	}
	seen, _ := structpb.NewStruct(map[string]any{"user": user})
	return &auth.CheckResponse{
		Status:          &status.Status{},
		DynamicMetadata: seen,
		HttpResponse: &auth.CheckResponse_OkResponse{OkResponse: &auth.OkHttpResponse{
			Headers: []*core.HeaderValueOption{
				field("x-checked", fmt.Sprintf("%s %s %s %s", http.GetMethod(), http.GetPath(), http.GetBody(), req.GetAttributes().GetContextExtensions()["place"])),
			},
			HeadersToRemove: []string{"x-user"},
		}},
	}, nil
}

type processor struct {
	proc.UnimplementedExternalProcessorServer
}

func change(name, value string) *proc.CommonResponse {
	return &proc.CommonResponse{HeaderMutation: &proc.HeaderMutation{SetHeaders: []*core.HeaderValueOption{
		{Header: &core.HeaderValue{Key: name, RawValue: []byte(value)}},
	}}}
}

// Marks heads both ways, and turns bodies into upper case.
func (processor) Process(stream proc.ExternalProcessor_ProcessServer) error {
	streams := false
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if req.GetProtocolConfig() != nil {
			streams = req.GetProtocolConfig().GetRequestBodyMode() == modes.ProcessingMode_FULL_DUPLEX_STREAMED
		}
		res := &proc.ProcessingResponse{}
		switch v := req.Request.(type) {
		case *proc.ProcessingRequest_RequestHeaders:
			res.Response = &proc.ProcessingResponse_RequestHeaders{RequestHeaders: &proc.HeadersResponse{Response: change("x-processed", "request")}}
		case *proc.ProcessingRequest_ResponseHeaders:
			res.Response = &proc.ProcessingResponse_ResponseHeaders{ResponseHeaders: &proc.HeadersResponse{Response: change("x-processed", "response")}}
		case *proc.ProcessingRequest_RequestBody:
			res.Response = &proc.ProcessingResponse_RequestBody{RequestBody: upper(v.RequestBody, streams)}
		case *proc.ProcessingRequest_ResponseBody:
			res.Response = &proc.ProcessingResponse_ResponseBody{ResponseBody: upper(v.ResponseBody, streams)}
		}
		if err := stream.Send(res); err != nil {
			return err
		}
	}
}

func upper(part *proc.HttpBody, streams bool) *proc.BodyResponse {
	out := make([]byte, len(part.GetBody()))
	for i, c := range part.GetBody() {
		if 'a' <= c && c <= 'z' {
			c -= 32
		}
		out[i] = c
	}
	mutation := &proc.BodyMutation{Mutation: &proc.BodyMutation_Body{Body: out}}
	if streams {
		mutation.Mutation = &proc.BodyMutation_StreamedResponse{StreamedResponse: &proc.StreamedBodyResponse{
			Body: out, EndOfStream: part.GetEndOfStream(),
		}}
	}
	return &proc.BodyResponse{Response: &proc.CommonResponse{BodyMutation: mutation}}
}

func listen(name string, register func(*grpc.Server)) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := grpc.NewServer()
	register(server)
	fmt.Printf("%s %s\n", name, listener.Addr())
	go server.Serve(listener)
}

func main() {
	listen("authz", func(s *grpc.Server) { auth.RegisterAuthorizationServer(s, authorizer{}) })
	listen("proc", func(s *grpc.Server) { proc.RegisterExternalProcessorServer(s, processor{}) })
	io.Copy(io.Discard, os.Stdin)
}
