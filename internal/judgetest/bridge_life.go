package judgetest

import (
	"context"
	"net/url"
	"os"
	"strconv"
	"time"
)

func (b *Bridge) heartbeats() {
	for wait(b.run, b.opt.Heartbeat) == nil {
		b.beatOnce()
	}
}

func (b *Bridge) beatOnce() {
	var activity string
	b.read(func() { activity = b.activity })
	a, err := b.callREST(b.run, call{method: "POST", path: "/api/gateway/executors/" + b.executorID + "/heartbeat", body: map[string]any{
		"metrics":        map[string]any{"pid": os.Getpid(), "uptime_seconds": int(time.Since(b.started).Seconds()), "memory_mb": 64.5, "current_activity": activity},
		"bridge_version": b.opt.Version, "backend_health": b.health(),
	}})
	if err != nil || b.run.Err() != nil {
		return
	}
	if !a.OK() {
		b.led.Break("bridge", "bridge 2.13", "heartbeat of a registered executor answered %d: ids stay valid for the life of the process", a.Status)
		return
	}
	b.led.check("bridge", "bridge 3.2", "heartbeat", "HeartbeatAnswer", a.JSON)
	list, _ := a.Map()["commands"].([]any)
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			b.command(m)
		}
	}
}

// Stop deregisters, closes the socket and waits for the loops: a graceful end.
func (b *Bridge) Stop(ctx context.Context) (superseded bool, err error) {
	query := url.Values{}
	if versionAtMost("2.9.8", b.opt.Version) {
		query.Set("instance_id", b.instance)
	}
	a, err := b.callREST(ctx, call{method: "DELETE", path: "/api/gateway/executors/" + b.executorID, query: query})
	b.Kill()
	if err != nil {
		return false, err
	}
	if !a.OK() {
		b.led.Break("bridge", "bridge 3.2", "DELETE of the own executor answered %d", a.Status)
	}
	superseded, _ = a.Map()["superseded"].(bool)
	return superseded, nil
}

// Kill ends everything at once and tells the server nothing.
func (b *Bridge) Kill() {
	var sock *phxSocket
	b.change(func() { b.offline, sock = true, b.sock })
	b.cancel()
	if sock != nil {
		sock.kill()
	}
	b.rest.close()
}

// DropSocket cuts the TCP connection; the loop reconnects by itself.
func (b *Bridge) DropSocket() {
	var sock *phxSocket
	b.read(func() { sock = b.sock })
	if sock != nil {
		sock.kill()
	}
}

// Turns lists every pushed message and its outcome, in order of completion.
func (b *Bridge) Turns() []TurnRecord {
	var out []TurnRecord
	b.read(func() { out = append(out, b.turns...) })
	return out
}

// Commands lists the gateway commands received.
func (b *Bridge) Commands() []string {
	var out []string
	b.read(func() { out = append(out, b.commands...) })
	return out
}

// WaitJoined blocks until the n-th join and catch-up are done.
func (b *Bridge) WaitJoined(ctx context.Context, n int) error {
	return b.until(ctx, "join "+strconv.Itoa(n)+" of the bridge", func() bool { return len(b.catchups) >= n })
}

// WaitTurns blocks until cond holds over the finished turns.
func (b *Bridge) WaitTurns(ctx context.Context, what string, cond func([]TurnRecord) bool) error {
	return b.until(ctx, what, func() bool { return cond(b.turns) })
}
