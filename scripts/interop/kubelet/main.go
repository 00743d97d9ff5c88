// A kubelet's port-forwarding and nothing else of it, with the library that container runtimes serve it with. Prints
// its own port; arguments: pod=host:port, where connections to any port of that pod go.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

type forwarder map[string]string

// PortForward copies both ways until one side is done, as containerd does.
func (pods forwarder) PortForward(_ context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	address, ok := pods[pod]
	if !ok {
		return fmt.Errorf("unable to find a sandbox of pod %q", pod)
	}
	inside, err := net.Dial("tcp", address)
	if err != nil {
		return fmt.Errorf("failed to connect to localhost:%d inside namespace: %w", port, err)
	}
	defer inside.Close()
	done := make(chan error, 2)
	go func() { _, err := io.Copy(stream, inside); done <- err }()
	go func() { _, err := io.Copy(inside, stream); done <- err }()
	return <-done
}

func main() {
	pods := forwarder{}
	for _, argument := range os.Args[1:] {
		pod, address, _ := strings.Cut(argument, "=")
		pods[pod] = address
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.Split(r.URL.Path, "/")
		options, err := portforward.NewV4Options(r)
		if err != nil || len(path) != 4 || path[1] != "portForward" {
			http.Error(w, fmt.Sprintf("%s: %v", r.URL.Path, err), http.StatusBadRequest)
			return
		}
		protocols := []string{portforward.ProtocolV1Name}
		portforward.ServePortForward(w, r, pods, path[3], "", options, time.Hour, time.Minute, protocols)
	}))
	fmt.Println(server.Listener.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}
