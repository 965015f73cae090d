package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// heartbeats tells the server that this process and its claims are alive. It
// waits for nothing but its own call, so that no slow start of a model can
// make the agent look offline (field.md 3).
func (a *Agent) heartbeats(ctx context.Context) {
	t := time.NewTicker(a.opt.Timing.Heartbeat)
	defer t.Stop()
	for {
		a.heartbeatOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-a.nudge:
		}
	}
}

func (a *Agent) heartbeatOnce(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	claims, activity := a.claims()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	a.mu.Lock()
	health, id := a.health, a.executor
	a.mu.Unlock()
	body := heartbeat{
		Metrics: map[string]any{
			"pid": os.Getpid(), "uptime_seconds": int(time.Since(a.started).Seconds()),
			"memory_mb": mem.Sys >> 20, "current_activity": activity,
		},
		BridgeVersion: a.opt.Version, BackendHealth: health, Claims: claims,
	}
	var out heartbeatAnswer
	err := a.api.call(ctx, "POST", "/api/gateway/executors/"+url.PathEscape(id)+"/heartbeat", body, &out)
	switch {
	case err == nil:
	case isStatus(err, http.StatusNotFound, ""):
		a.log.Warn("the server forgot this executor, registering again")
		if err := a.register(ctx); err != nil {
			a.log.Warn("registration failed", slog.Any("error", err))
			return
		}
		a.mu.Lock()
		if a.sock != nil && a.executor != id {
			a.sock.cancel(errRejoin)
		}
		a.mu.Unlock()
		return
	case errors.Is(err, ErrKeyRefused):
		a.replaced(ErrKeyRefused)
		return
	default:
		if ctx.Err() == nil {
			a.log.Warn("heartbeat failed", slog.Any("error", err))
		}
		return
	}
	for _, lost := range out.Lost {
		for _, c := range claims {
			if c.ID == lost {
				a.lose(c)
			}
		}
	}
	for _, c := range out.Commands {
		a.command(c)
	}
}

// claims lists everything in flight, running or waiting for a slot.
func (a *Agent) claims() ([]claimRef, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]claimRef, 0, len(a.work))
	for _, w := range a.work {
		out = append(out, claimRef{w.queueID, w.gen})
	}
	slices.SortFunc(out, func(x, y claimRef) int {
		if x.ID < y.ID {
			return -1
		}
		return 1
	})
	if len(out) == 0 {
		return out, "idle"
	}
	return out, "processing_" + a.work[out[0].ID].kind + ":" + out[0].ID
}

// lose cancels the work of a claim that the server gave away. A newer claim of
// the same row is left alone.
func (a *Agent) lose(c claimRef) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.work[c.ID]; w != nil && w.gen == c.Generation && !w.delivering {
		w.cancel(errLost)
	}
}

// setHealth records what a turn said about the backend, or with check what the check
// at start said, and tells the server at once when it changed. A turn knows better
// than the check, which may end after it.
func (a *Agent) setHealth(err error, check bool) {
	h := Health{Status: "ok"}
	if err != nil {
		e := backend.AsError(err)
		h.Detail = new(e.Message)
		switch e.Code {
		case backend.CodeAuth:
			h.Status = "unauthenticated"
		case backend.CodeRate:
			h.Status = "rate_limited"
			reset := e.ResetAt
			if reset.IsZero() {
				reset = time.Now().Add(time.Hour)
			}
			h.ResetAt = new(float64(reset.UnixMilli()) / 1000)
		case backend.CodeMissing:
			h.Status = "missing_cli"
		case backend.CodeModel:
			h.Status = "error"
		default:
			// A time-out, a kill or an empty answer says nothing lasting about the
			// backend; the turn itself shows it.
			return
		}
	}
	a.mu.Lock()
	if check && a.proven {
		a.mu.Unlock()
		return
	}
	a.proven = a.proven || !check
	changed := a.health.Status != h.Status
	a.health = h
	a.mu.Unlock()
	if changed {
		select {
		case a.nudge <- struct{}{}:
		default:
		}
	}
}
