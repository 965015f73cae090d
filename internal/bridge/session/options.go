package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// ErrLocked means that another bridge process on this machine serves the same
// agent.
var ErrLocked = errors.New("another bridge process on this machine already serves this agent")

// ErrReplaced means that the server told this process to stop, usually because
// the same agent came online somewhere else.
var ErrReplaced = errors.New("the server asked this bridge to stop")

// Options describe one agent of a bridge process.
type Options struct {
	URL         string // http(s) base without trailing slash
	AgentID     string
	Key         string
	ExecutorKey string // stable per place; the executor row is keyed by it

	Backend       string // fixed by the operator; empty follows the profile
	Model         string // fixed by the operator; empty follows the profile
	MaxConcurrent int    // 0 follows the profile, then 4
	SkipPerms     bool

	DeviceName string
	Version    string
	Dir        string // private folder of the agent, 0700

	Aside      Aside   // nil for nothing
	Local      []Local // tools of this machine
	NewBackend func(ctx context.Context, need Need) (backend.Backend, error)
	Log        *slog.Logger
	Timing     Timing
}

// Call makes one call of the server's REST edge as the agent: in and out are JSON, nil for none. It blocks at most Timing.Call.
// Errors: *StatusError for answers of 400 and more.
type Call func(ctx context.Context, method, path string, in, out any) error

// Aside runs beside an agent from its registration until ctx ends, which it must not outlive for long.
type Aside func(ctx context.Context, call Call)

// Need is what a backend is made from.
type Need struct {
	Name       string // canonical; empty asks for the default of this machine
	Profile    Profile
	Dir        string
	Credential func(ctx context.Context, provider string) (string, error) // the owner's stored key; empty when there is none
}

// Timing holds every duration, so that tests run the same code faster.
type Timing struct {
	Heartbeat   time.Duration // between heartbeats to the gateway
	SocketBeat  time.Duration // between Phoenix heartbeats
	StreamEvery time.Duration // between frames of a stream
	StreamQuiet time.Duration // an unchanged stream is repeated this often
	BackoffMin  time.Duration
	BackoffMax  time.Duration
	Call        time.Duration // one REST call
	Drain       time.Duration // how long a stopping bridge lets turns finish
	KeepLost    time.Duration // how long a draft of a lost claim is kept
	Refresh     time.Duration // age at which the profile is fetched again
	Tool        time.Duration // one platform tool call
	Turn        time.Duration // one turn; 0 chooses by backend
}

// DefaultTiming is what runs outside tests.
func DefaultTiming() Timing {
	return Timing{
		Heartbeat: 20 * time.Second, SocketBeat: 30 * time.Second,
		StreamEvery: 300 * time.Millisecond, StreamQuiet: 20 * time.Second,
		BackoffMin: time.Second, BackoffMax: 30 * time.Second,
		Call: 30 * time.Second, Drain: 60 * time.Second, KeepLost: time.Hour,
		Refresh: time.Minute, Tool: 60 * time.Second,
	}
}

// turnLimit is how long one turn may take.
func (o Options) turnLimit(name string, p Profile) time.Duration {
	switch {
	case o.Timing.Turn > 0:
		return o.Timing.Turn
	case p.ModelConfig.Timeout > 0:
		return time.Duration(p.ModelConfig.Timeout * float64(time.Second))
	case name == backend.ClaudeCLI || name == backend.CodexCLI:
		return 30 * time.Minute
	default:
		return 5 * time.Minute
	}
}
