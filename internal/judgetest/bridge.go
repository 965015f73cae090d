package judgetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// BridgeOptions shape one stock bridge process. The zero value is a 2.11.24
// bridge with the contract's own timings.
type BridgeOptions struct {
	Version       string // "2.11.24"; decides warm-up, stale handling, dropped prose (bridge 0.3)
	ExecutorKey   string // "agent-bridge"
	MaxConcurrent int    // MAX_CONCURRENT_TASKS, used when the profile names none; 2
	Backend       string // MODEL_BACKEND, used when the profile names none; "anthropic"
	Device        string // AGENTGRAM_DEVICE_NAME

	Heartbeat   time.Duration // executor heartbeat, 60 s
	SocketDelay time.Duration // between registration and socket, 1 s
	Reconnect   time.Duration // wait after a clean drop and unit of the back-off, 5 s
	TurnTimeout time.Duration // outer time-out of a turn, 300 s

	Refresh    time.Duration // least time between two toolkit refreshes, 60 s
	KeepAlive  time.Duration // longest silence of a running task, 5 s
	Poll       time.Duration // between two polls of a permission request, 2 s
	AskCeiling time.Duration // how long a permission request is polled, 330 s
	Resumable  []string      // real ids of tasks whose run outlived the previous process

	Model func(ctx context.Context, turn *Turn) Reply
	Task  func(ctx context.Context, task *TaskTurn) TaskReply
	Query func(ctx context.Context, query map[string]any) string // answers agent queries; "" or nil reports a failure

	// Step is called in the turn's goroutine as the turn passes a point of its
	// life. Calling Kill there ends the process at that very point.
	Step func(b *Bridge, at Step, messageID string)

	Ledger *Ledger // shared ledger; nil = an own one, reported when t ends
}

// Step is a point in the life of a message turn.
type Step string

// The points at which a process can be killed, in order.
const (
	StepPushed    Step = "pushed"    // received, nothing said to the server
	StepStarted   Step = "started"   // stream started
	StepAnswering Step = "answering" // the model is done, the reply not posted
	StepAnswered  Step = "answered"  // the reply is posted, not acknowledged
	StepAcked     Step = "acked"
)

func (o BridgeOptions) filled() BridgeOptions {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Heartbeat, 60*time.Second)
	def(&o.SocketDelay, time.Second)
	def(&o.Reconnect, 5*time.Second)
	def(&o.TurnTimeout, 300*time.Second)
	def(&o.Refresh, 60*time.Second)
	def(&o.KeepAlive, 5*time.Second)
	def(&o.Poll, 2*time.Second)
	def(&o.AskCeiling, 330*time.Second)
	if o.Version == "" {
		o.Version = "2.11.24"
	}
	if o.ExecutorKey == "" {
		o.ExecutorKey = "agent-bridge"
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = 2
	}
	if o.Backend == "" {
		o.Backend = "anthropic"
	}
	if o.Device == "" {
		o.Device = "judge-host"
	}
	if o.Model == nil {
		o.Model = func(_ context.Context, turn *Turn) Reply { return Reply{Text: "re: " + turn.Text()} }
	}
	if o.Task == nil {
		o.Task = func(_ context.Context, task *TaskTurn) TaskReply { return TaskReply{Text: "done: " + task.Title} }
	}
	if o.Resumable == nil {
		o.Resumable = []string{}
	}
	return o
}

// Bridge is one process of the stock Python bridge for one agent, as bridge.md
// describes it from outside. Start runs the start-up sequence of 2.14; Stop is a
// graceful end, Kill what SIGKILL leaves behind.
type Bridge struct {
	t       testing.TB
	opt     BridgeOptions
	led     *Ledger
	rest    transport
	agentID string
	apiKey  string
	tokens  *tokenSource

	instance   string
	executorID string
	me         map[string]any
	started    time.Time
	slots      chan struct{}
	refresh    refresher

	run    context.Context
	cancel context.CancelFunc
	loops  chan struct{} // closed when the socket loop ended

	watched
	sock      *phxSocket
	joins     int
	catchups  []map[string]any
	seen      map[string]time.Time // messageId → first seen, 1900 s (bridge 2.6)
	inFlight  map[string]string    // conversation → message whose turn has not ended
	cancels   map[string]map[string]context.CancelCauseFunc
	turns     []TurnRecord
	tasks     []TaskRecord
	toolkit   []string
	taskStops map[string]context.CancelCauseFunc // running tasks by real id
	commands  []string
	offline   bool
	activity  string
	shutdowns int
}

// TurnRecord is what became of one pushed gateway_message.
type TurnRecord struct {
	QueueID, MessageID, ConversationID string
	Outcome                            string // answered stale duplicate skipped no_directives failed timeout stopped empty triaged refused
	ReplyID                            string
	PostStatus, AckStatus              int
	Reposted                           bool
	Directives                         []string
	Volatile                           []string
	Members                            int
}

// New prepares a bridge that follows bridge.md against the server at baseURL.
// Everything it starts ends with t; its own ledger is reported then.
func New(t testing.TB, baseURL, agentID, apiKey string, opts BridgeOptions) *Bridge {
	opts = opts.filled()
	led := opts.Ledger
	if led == nil {
		led = &Ledger{}
		t.Cleanup(func() { led.Report(t) })
	}
	run, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	b := &Bridge{
		t: t, opt: opts, led: led, agentID: agentID, apiKey: apiKey,
		rest:     newTransport(strings.TrimSuffix(baseURL, "/"), led, "bridge", "bridge 3.1", 60*time.Second),
		instance: strings.ReplaceAll(uuid.NewString(), "-", ""),
		run:      run, cancel: cancel, loops: make(chan struct{}), activity: "idle",
		seen: map[string]time.Time{}, inFlight: map[string]string{}, cancels: map[string]map[string]context.CancelCauseFunc{},
		taskStops: map[string]context.CancelCauseFunc{},
	}
	b.rest.no205 = true
	b.tokens = &tokenSource{b: b}
	t.Cleanup(b.Kill)
	return b
}

// errAuthFailed is the fatal AUTH_FAILED of bridge 1.2.
var errAuthFailed = errors.New("AUTH_FAILED: bad key or deactivated agent")

// Start runs the start-up sequence of bridge 2.14 in its order and returns when
// the executor is registered; the socket follows SocketDelay later. An error is
// where the real process would have exited with code 1.
func (b *Bridge) Start(ctx context.Context) error {
	b.started = time.Now()
	profile, err := b.profile(ctx)
	if err != nil {
		return err
	}
	config, _ := profile["modelConfig"].(map[string]any)
	backend, _ := config["backend"].(string)
	if backend == "" {
		backend = b.opt.Backend
	}
	if backend == "anthropic" || backend == "openai" || backend == "openrouter" {
		b.resolveCredential(ctx, backend)
	}
	if model, _ := config["model"].(string); model == "" {
		a, err := b.callFresh(ctx, call{method: "PATCH", path: "/api/agents/me/model-config",
			body: map[string]any{"model_config": map[string]any{"model": "judge-model-1", "backend": backend}}})
		if err == nil && !a.OK() {
			b.led.Break("bridge", "bridge 3.5", "PATCH /api/agents/me/model-config answered %d", a.Status)
		}
	}
	if versionAtMost(b.opt.Version, "2.11.15") {
		b.warmup(ctx)
	}
	if _, err := b.tokens.get(ctx, true); err != nil {
		return err
	}
	a, err := b.callREST(ctx, call{method: "GET", path: "/api/me"})
	if err != nil {
		return err
	}
	if a.Status >= 400 {
		return fmt.Errorf("second GET /api/me: %s", apiError(a))
	}
	b.me = a.Map()
	settings, _ := b.me["settings"].(map[string]any)
	slots := b.opt.MaxConcurrent
	if n, ok := settings["max_concurrent_tasks"].(float64); ok && n >= 1 {
		slots = int(n)
	}
	b.slots = make(chan struct{}, slots)
	if err := b.register(ctx, slots); err != nil {
		return err
	}
	b.refresh.last, b.refresh.every = time.Now(), b.opt.Refresh
	b.learn(listOf(b.me, "resolvedTools"))
	go b.heartbeats()
	go b.socketLoop()
	return nil
}

// profile is the first step: token and GET /api/me, up to three times while the
// toolkit is empty (bridge 4.4).
func (b *Bridge) profile(ctx context.Context) (map[string]any, error) {
	var me map[string]any
	for attempt := range 3 {
		if attempt > 0 {
			if err := wait(ctx, time.Duration(attempt)*2*time.Second); err != nil {
				return nil, err
			}
		}
		a, err := b.callFresh(ctx, call{method: "GET", path: "/api/me"})
		if err != nil {
			return nil, err
		}
		if a.Status >= 400 {
			return nil, fmt.Errorf("GET /api/me: %s", apiError(a))
		}
		me = a.Map()
		b.led.check("bridge", "bridge 4.4", "/api/me", "AgentMe", a.JSON)
		if me["id"] != b.agentID {
			b.led.Break("bridge", "bridge 4.4", "/api/me id is %s, not the agent's", brief(me["id"]))
		}
		if tools, _ := me["resolvedTools"].([]any); len(tools) > 0 {
			b.needTools(tools)
			return me, nil
		}
	}
	b.led.Break("bridge", "bridge 4.4", "resolvedTools stayed empty for three attempts: the bridge runs degraded")
	return me, nil
}

// needTools checks four tools that every agent has.
func (b *Bridge) needTools(tools []any) {
	have := map[string]bool{}
	for _, tool := range tools {
		m, _ := tool.(map[string]any)
		name, _ := m["name"].(string)
		if have[name] {
			b.led.Break("bridge", "bridge 4.5", "tool %q is listed twice", name)
		}
		have[name] = true
	}
	for _, name := range []string{"send_message", "get_messages", "get_profile", "end_turn"} {
		if !have[name] {
			b.led.Break("bridge", "row K3", "resolvedTools lacks %s", name)
		}
	}
}

func (b *Bridge) resolveCredential(ctx context.Context, provider string) {
	a, err := b.callFresh(ctx, call{method: "GET", path: "/api/integrations/" + provider + "/resolve"})
	switch {
	case err != nil:
		b.led.Break("bridge", "bridge 1.6", "resolve: %v", err)
	case a.Status == http.StatusOK && a.Str("token") == "":
		b.led.Break("bridge", "bridge 1.6", "resolve answered 200 without a token")
	case a.Status != http.StatusOK && a.Status != http.StatusNotFound:
		b.led.Break("bridge", "bridge 1.6", "resolve answered %d, only 200 and 404 are known", a.Status)
	}
}

// warmup is the call of bridges up to 2.11.15; any failure is ignored.
func (b *Bridge) warmup(ctx context.Context) {
	a, err := b.callFresh(ctx, call{method: "POST", path: "/api/gateway/warmup", body: map[string]any{"limit": 3}})
	if err == nil && a.Status == http.StatusUnauthorized {
		b.led.Break("bridge", "bridge 3.2", "warmup answered 401 to a fresh token")
	}
}

func (b *Bridge) register(ctx context.Context, slots int) error {
	body := map[string]any{
		"executor_key": b.opt.ExecutorKey, "display_name": b.me["displayName"], "capabilities": b.me["capabilities"],
		"connection_type": "long_poll", "max_concurrent": slots,
		"metadata": map[string]any{"device_name": b.opt.Device, "bridge_version": b.opt.Version},
	}
	for since, add := range map[string]struct {
		key   string
		value any
	}{
		"2.7.0":   {"backend_health", b.health()},
		"2.9.8":   {"instance_id", b.instance},
		"2.11.12": {"resumable_task_ids", b.opt.Resumable},
	} {
		if versionAtMost(since, b.opt.Version) {
			body[add.key] = add.value
		}
	}
	a, err := b.callREST(ctx, call{method: "POST", path: "/api/gateway/executors", body: body})
	if err != nil {
		return err
	}
	if !a.OK() {
		return fmt.Errorf("register executor: %s", apiError(a))
	}
	b.led.check("bridge", "bridge 3.2", "POST /api/gateway/executors", "Registered", a.JSON)
	if b.executorID = a.Str("id"); b.executorID == "" {
		return errors.New("register executor: no top-level id")
	}
	return nil
}

func (b *Bridge) health() map[string]any { return map[string]any{"status": "ok", "detail": nil} }

// ExecutorID is the id given at registration.
func (b *Bridge) ExecutorID() string { return b.executorID }
