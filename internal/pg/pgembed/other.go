//go:build !unix

package pgembed

import (
	"context"
	"errors"
	"log/slog"
)

// Options, Server: see the unix build.
type Options struct {
	DataDir, BinDir, Database string
	Settings                  map[string]string
	Logger                    *slog.Logger
}

// Server never exists on this system.
type Server struct{}

// ErrStopped is Wait's answer after Stop.
var ErrStopped = errors.New("postgres was stopped")

var errNoUnix = errors.New("embedded postgres is not offered on this system: set DATABASE_URL to a Postgres that runs")

// Start fails: the supervisor needs Unix sockets and signals.
func Start(context.Context, Options) (*Server, error) { return nil, errNoUnix }

// URL is empty.
func (*Server) URL() string { return "" }

// Done is never closed.
func (*Server) Done() <-chan struct{} { return nil }

// Wait returns at once.
func (*Server) Wait() error { return errNoUnix }

// PID is 0.
func (*Server) PID() int { return 0 }

// Stop does nothing.
func (*Server) Stop(context.Context) error { return nil }
