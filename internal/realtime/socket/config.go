package socket

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/realtime"
)

// Config of a Server. Bus, Authenticate, Route and Log are required.
type Config struct {
	Bus          *realtime.Bus
	Authenticate Authenticator
	Route        Router
	Log          *slog.Logger

	// Origins lists the allowed values of the Origin header, as
	// scheme://host[:port] with * as wildcard inside a part. The server's own
	// host is always allowed, and so is a request without Origin (decision 26).
	Origins []string
	// ErrorReply turns an error of Join or Push into the response of the error
	// reply. Nil sends the response of a *ReplyError and {"reason":"internal"}
	// for the rest.
	ErrorReply func(error) any
	// Registerer takes the metrics agntchat_realtime_*; nil means none.
	Registerer prometheus.Registerer
	Limits     Limits
}

// Limits bound what one client can cost. Zero values take the default.
type Limits struct {
	Conns int // open connections; further upgrades get 503 (20,000)
	Each  int // connections of one participant; further upgrades get 429 (half of Conns)

	Frame       int            // bytes of an incoming frame (64 KiB)
	LargeFrames map[string]int // events that may be larger, in bytes ({"new_message": 1 MiB})

	PushRate    float64 // pushes per second and connection (100)
	PushBurst   float64 // (600); a client that ignores refusals for twice as many is closed with 1008
	JoinRate    float64 // joins per second and connection (25)
	JoinBurst   float64 // (300)
	Topics      int     // joined topics per connection (1,000)
	Backlog     int     // pushes that wait for one topic's handler; further ones get "busy" (600)
	BacklogSize int     // bytes of all pushes that wait in one connection; likewise (4 MiB)
	Joining     int     // joins that run at once in the server; the others wait (64)
	QueueBytes  int     // bytes that wait for a reader (512 KiB)

	QueueAge       time.Duration // age of the oldest of them (10 s)
	Idle           time.Duration // silence after which a connection is closed (2 min; clients beat every 30 s)
	HandlerTimeout time.Duration // for one Join or Push (30 s)
	CloseTimeout   time.Duration // for the closing handshake (5 s)
}

func (l Limits) withDefaults() Limits {
	setInt(&l.Conns, 20_000)
	setInt(&l.Each, (l.Conns+1)/2)
	setInt(&l.Frame, 64<<10)
	if l.LargeFrames == nil {
		// 100,000 characters of any script, written as \uXXXX as some clients do, and metadata.
		l.LargeFrames = map[string]int{"new_message": 1 << 20}
	}
	setFloat(&l.PushRate, 100)
	setFloat(&l.PushBurst, 600)
	setFloat(&l.JoinRate, 25)
	setFloat(&l.JoinBurst, 300)
	setInt(&l.Topics, 1000)
	setInt(&l.Backlog, 600)
	setInt(&l.BacklogSize, 4<<20)
	setInt(&l.Joining, 64)
	setInt(&l.QueueBytes, 512<<10)
	setDuration(&l.QueueAge, 10*time.Second)
	setDuration(&l.Idle, 2*time.Minute)
	setDuration(&l.HandlerTimeout, 30*time.Second)
	setDuration(&l.CloseTimeout, 5*time.Second)
	return l
}

func setInt(p *int, v int) {
	if *p == 0 {
		*p = v
	}
}

func setFloat(p *float64, v float64) {
	if *p == 0 {
		*p = v
	}
}

func setDuration(p *time.Duration, v time.Duration) {
	if *p == 0 {
		*p = v
	}
}
