package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Agent is one agent of this process, from start to drain.
type Agent struct {
	opt      Options
	log      *slog.Logger
	api      *api
	outbox   *outbox
	instance string
	started  time.Time
	rows     keyed // one delivery at a time per queue row
	rooms    keyed // one turn at a time per conversation
	wg       sync.WaitGroup
	nudge    chan struct{} // asks for a heartbeat now
	pump     chan struct{} // asks for a look into the outbox
	replaced context.CancelCauseFunc

	life    context.Context // heartbeats and last words; ends last
	sending context.Context // deliveries; ends when the time for draining is over
	endSend context.CancelFunc

	mu         sync.Mutex
	executor   string
	profile    Profile
	profileAt  time.Time
	health     Health
	proven     bool // a turn has shown the backend's health
	work       map[string]*work
	draining   bool
	slots      chan struct{}
	backends   map[string]backend.Backend
	sock       *socket
	refreshing bool
}

// New prepares an agent; it touches neither the network nor the disk.
func New(opt Options) *Agent {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	tokens := &tokenSource{base: opt.URL, agentID: opt.AgentID, key: opt.Key, http: client, now: time.Now}
	return &Agent{
		opt: opt, log: opt.Log.With(slog.String("agent_id", opt.AgentID)),
		api:   &api{base: opt.URL, http: client, tokens: tokens, version: opt.Version, timeout: opt.Timing.Call},
		nudge: make(chan struct{}, 1), pump: make(chan struct{}, 1), work: map[string]*work{}, backends: map[string]backend.Backend{},
		health: Health{Status: "ok"},
	}
}

// Run serves the agent until ctx ends (then it drains: running turns get
// Timing.Drain to finish, the rest is given back), the server replaces this
// process (ErrReplaced) or refuses its key (ErrKeyRefused). Losing the server
// is no reason to return.
func (a *Agent) Run(ctx context.Context) error {
	if err := os.MkdirAll(a.opt.Dir, 0o700); err != nil {
		return fmt.Errorf("agent folder: %w", err)
	}
	release, err := acquire(filepath.Join(a.opt.Dir, "lock"))
	if err != nil {
		return err
	}
	defer release()
	if a.outbox, err = openOutbox(filepath.Join(a.opt.Dir, "outbox")); err != nil {
		return err
	}
	a.instance, a.started = newInstance(), time.Now()
	life, endLife := context.WithCancel(context.WithoutCancel(ctx))
	defer endLife()
	a.life = life
	a.sending, a.endSend = context.WithCancel(life)
	defer a.endSend()
	ctx, a.replaced = context.WithCancelCause(ctx)
	defer a.replaced(nil)

	if err := a.start(ctx); err != nil {
		return err
	}
	var loops sync.WaitGroup
	loops.Go(func() { a.heartbeats(life) })
	loops.Go(func() { a.pumpOutbox(life) })
	loops.Go(func() { a.warmUp(ctx) })
	if a.opt.Aside != nil {
		loops.Go(func() { a.opt.Aside(ctx, a.api.call) })
	}
	a.connectLoop(ctx)
	cause := context.Cause(ctx)
	a.drain(errors.Is(cause, ErrReplaced) || errors.Is(cause, ErrKeyRefused))
	endLife()
	loops.Wait()
	a.wg.Wait()
	a.http().CloseIdleConnections()
	if errors.Is(cause, ErrReplaced) || errors.Is(cause, ErrKeyRefused) {
		return cause
	}
	return nil
}

func (a *Agent) http() *http.Client { return a.api.http }

func newInstance() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// start gets the agent to the point where the server may send work: profile,
// finished turns of an earlier process, registration. It retries for ever,
// except when the key is refused.
func (a *Agent) start(ctx context.Context) error {
	steps := []func(context.Context) error{a.fetchProfile, a.replay, a.register}
	for try := 0; len(steps) > 0; {
		err := steps[0](ctx)
		switch {
		case err == nil:
			steps, try = steps[1:], 0
			continue
		case errors.Is(err, ErrKeyRefused), ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), err)
		}
		a.log.Warn("bridge start delayed", slog.Any("error", err))
		if !a.pause(ctx, try) {
			return context.Cause(ctx)
		}
		try++
	}
	return nil
}

// pause waits a backed-off, jittered time; false when ctx ended first.
func (a *Agent) pause(ctx context.Context, try int) bool {
	d := a.opt.Timing.BackoffMin << min(try, 10)
	if d <= 0 || d > a.opt.Timing.BackoffMax {
		d = a.opt.Timing.BackoffMax
	}
	return wait(ctx, d/2+mrand.N(d/2+1))
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (a *Agent) fetchProfile(ctx context.Context) error {
	var p Profile
	if err := a.api.call(ctx, "GET", "/api/me", nil, &p); err != nil {
		return fmt.Errorf("fetch agent profile: %w", err)
	}
	a.mu.Lock()
	a.profile, a.profileAt = p, time.Now()
	a.mu.Unlock()
	return nil
}

// currentProfile returns the profile at hand and, when it is old, fetches a
// fresh one in the background; the next turn sees it.
func (a *Agent) currentProfile() Profile {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.profileAt) > a.opt.Timing.Refresh && !a.refreshing {
		a.refreshing = true
		a.wg.Go(func() {
			_ = a.fetchProfile(a.life)
			a.mu.Lock()
			a.refreshing = false
			a.mu.Unlock()
		})
	}
	return a.profile
}

func (a *Agent) register(ctx context.Context) error {
	a.mu.Lock()
	p, health := a.profile, a.health
	a.mu.Unlock()
	slots := a.opt.MaxConcurrent
	if slots <= 0 {
		slots = p.Settings.MaxConcurrent
	}
	if slots <= 0 {
		slots = 4
	}
	caps := slices.Clone(p.Capabilities)
	if !slices.Contains(caps, capabilityShare) {
		caps = append(caps, capabilityShare)
	}
	body := registration{
		ExecutorKey: a.opt.ExecutorKey, DisplayName: p.DisplayName, Capabilities: caps, ConnectionType: "long_poll",
		MaxConcurrent: slots, BackendHealth: health, InstanceID: a.instance, ResumableTaskIDs: a.resumable(),
		Metadata: map[string]any{"client": "agnt", "protocol": 1, "device_name": a.opt.DeviceName, "bridge_version": a.opt.Version},
	}
	var out struct {
		ID string `json:"id"`
	}
	if err := a.api.call(ctx, "POST", "/api/gateway/executors", body, &out); err != nil {
		return fmt.Errorf("register executor: %w", err)
	}
	if out.ID == "" {
		return errors.New("register executor: the answer carries no id")
	}
	a.mu.Lock()
	a.executor = out.ID
	if a.slots == nil {
		a.slots = make(chan struct{}, slots)
	}
	a.mu.Unlock()
	a.log.Info("agent registered", slog.String("executor_id", out.ID), slog.Int("max_concurrent", slots))
	return nil
}

func (a *Agent) executorID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.executor
}

// drain stops taking work, lets running turns finish, gives back the rest and
// deregisters. When replaced, nothing is waited for: the claims belong to the
// successor already.
func (a *Agent) drain(replaced bool) {
	a.mu.Lock()
	a.draining = true
	a.mu.Unlock()
	done := make(chan struct{})
	go func() { a.waitWork(); close(done) }()
	limit, cause := a.opt.Timing.Drain, errDrain
	if replaced {
		limit, cause = 0, errLost
	}
	select {
	case <-done:
	case <-time.After(limit):
		a.endSend()
		a.mu.Lock()
		for _, w := range a.work {
			w.cancel(cause)
		}
		a.mu.Unlock()
		select {
		case <-done:
		case <-time.After(15 * time.Second):
			a.log.Warn("turns did not end in time")
		}
	}
	a.mu.Lock()
	backends := a.backends
	a.backends = map[string]backend.Backend{}
	id := a.executor
	a.mu.Unlock()
	for _, b := range backends {
		if err := b.Close(); err != nil {
			a.log.Warn("backend did not close cleanly", slog.String("backend", b.Name()), slog.Any("error", err))
		}
	}
	if err := a.api.call(a.life, "DELETE", "/api/gateway/executors/"+url.PathEscape(id)+"?instance_id="+a.instance, nil, nil); err != nil {
		a.log.Warn("deregistration failed", slog.Any("error", err))
	}
}

func (a *Agent) waitWork() {
	for {
		a.mu.Lock()
		var one *work
		for _, w := range a.work {
			one = w
			break
		}
		a.mu.Unlock()
		if one == nil {
			return
		}
		<-one.done
	}
}
