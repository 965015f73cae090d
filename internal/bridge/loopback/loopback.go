// Package loopback serves HTTP to the agent CLIs on this machine: a free port of
// 127.0.0.1 and a secret that callers must show. The secret exists only in memory and in
// files of mode 0600. What is served, and where the secret stands in a call, is the
// handler's matter.
package loopback

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is one listener. Its methods may be called at once.
type Server struct {
	secret string
	ln     net.Listener
	http   http.Server
	wg     sync.WaitGroup
}

// Listen takes a port; what names it in an error ("tools"). Callers wait until Serve.
func Listen(what string) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", what, err)
	}
	var b [24]byte
	_, _ = rand.Read(b[:])
	return &Server{secret: hex.EncodeToString(b[:]), ln: ln}, nil
}

// Serve lets h answer until Close; it returns at once.
func (s *Server) Serve(h http.Handler) {
	s.http.Handler, s.http.ReadHeaderTimeout = h, 10*time.Second
	s.wg.Go(func() { _ = s.http.Serve(s.ln) })
}

// Close ends the server and the calls that run in it.
func (s *Server) Close() error {
	err := s.http.Close()
	s.wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Secret is 48 hex digits, new with each Listen.
func (s *Server) Secret() string { return s.secret }

// URL is the address of a path that begins with a slash.
func (s *Server) URL(path string) string { return "http://" + s.ln.Addr().String() + path }

// Knows says whether the caller showed the secret, in a time that does not tell how
// much of it was right.
func (s *Server) Knows(shown string) bool {
	return subtle.ConstantTimeCompare([]byte(shown), []byte(s.secret)) == 1
}
