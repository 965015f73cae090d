package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// bench is a world with a running gateway.
type bench struct {
	*flowtest.World
	t   *testing.T
	g   *flow.Gateway
	k   *flow.Tasks // nil without tasks
	cfg flow.GatewayConfig

	tasks bool
}

// quick has the product's code with shorter times.
var quick = flow.GatewayConfig{
	MessageLease: time.Minute, MostTurn: 10 * time.Minute, ExecutorTimeout: time.Minute, Sweep: 20 * time.Millisecond, Poll: 20 * time.Millisecond,
}

func newBench(t *testing.T, cfg flow.GatewayConfig, opts ...pgtest.Option) *bench {
	t.Helper()
	b := &bench{World: flowtest.New(t, opts...), t: t, cfg: cfg}
	b.boot()
	return b
}

// newTaskBench has tasks too.
func newTaskBench(t *testing.T, opts ...pgtest.Option) *bench {
	t.Helper()
	b := &bench{World: flowtest.New(t, opts...), t: t, cfg: quick, tasks: true}
	b.boot()
	return b
}

// boot starts the gateway as the server does.
func (b *bench) boot() {
	b.t.Helper()
	b.g = flow.NewGateway(b.DB, b.Chat, b.Bus, slog.New(slog.DiscardHandler), b.cfg)
	b.Chat.Turns = b.g
	if b.tasks {
		b.k = flow.NewTasks(b.g, b.Chat, quickTasks)
		b.Chat.Answered = b.k.AnsweredByTx
	}
	b.Chat.Forget, b.Chat.Withdraw, b.Chat.Settle = b.g.ForgetTx, b.g.WithdrawTx, b.g.SettleRoomTx
	g := b.g
	if err := g.Start(b.t.Context()); err != nil {
		b.t.Fatalf("start gateway: %v", err)
	}
	b.t.Cleanup(g.Stop)
}

// reboot is a kill of the server: memory is gone, rows stay.
func (b *bench) reboot() {
	b.t.Helper()
	b.g.Stop()
	b.boot()
}

func (b *bench) register(agent access.Actor, key, instance string, slots int, ours bool) id.Executor {
	b.t.Helper()
	e, err := b.g.RegisterExecutor(b.t.Context(), agent, executor.Registration{Key: key, InstanceID: instance, MaxConcurrent: slots, Ours: ours})
	if err != nil {
		b.t.Fatalf("register: %v", err)
	}
	return e.ID
}

// socket is a bridge's connection in a test.
type socket struct {
	b     *bench
	agent access.Actor
	ex    id.Executor
	fail  bool // the push fails, as on a dead connection
	large bool // the turn does not fit into a frame

	mu        sync.Mutex
	turns     chan flow.Delivery
	decisions chan flow.ApprovalDelivery
	commands  chan flow.Command
	hints     chan flow.AddedHint
	shut      chan string
	tasks     chan flow.TaskDelivery
	queries   chan ask.Query
	scopes    chan ask.Scope
}

func (b *bench) join(agent access.Actor, ex id.Executor) *socket {
	b.t.Helper()
	if _, err := b.g.ReviveExecutor(b.t.Context(), agent, ex, "", ""); err != nil {
		b.t.Fatalf("join: %v", err)
	}
	s := b.socket(agent, ex)
	b.g.AddSocket(agent, ex, s)
	return s
}

func (b *bench) socket(agent access.Actor, ex id.Executor) *socket {
	return &socket{b: b, agent: agent, ex: ex, turns: make(chan flow.Delivery, 2000), tasks: make(chan flow.TaskDelivery, 2000), queries: make(chan ask.Query, 10), scopes: make(chan ask.Scope, 10), decisions: make(chan flow.ApprovalDelivery, 100), commands: make(chan flow.Command, 100), hints: make(chan flow.AddedHint, 100), shut: make(chan string, 10)}
}

func (s *socket) Deliver(d flow.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail {
		return fmt.Errorf("connection is gone")
	}
	if s.large {
		return fmt.Errorf("%w: test", flow.ErrUndeliverable)
	}
	s.turns <- d
	return nil
}
func (s *socket) DeliverApproval(d flow.ApprovalDelivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail {
		return fmt.Errorf("connection is gone")
	}
	if s.large {
		return fmt.Errorf("%w: test", flow.ErrUndeliverable)
	}
	s.decisions <- d
	return nil
}
func (s *socket) Command(c flow.Command) error { s.commands <- c; return nil }
func (s *socket) Added(h flow.AddedHint) error { s.hints <- h; return nil }
func (s *socket) Shut(reason string)           { s.shut <- reason }

// leave is the end of the connection.
func (s *socket) leave() { s.b.g.LeaveExecutor(s.b.t.Context(), s.agent, s.ex, s) }

const patience = 20 * time.Second

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s came", what)
		panic("unreachable")
	}
}

func (s *socket) next() flow.Delivery {
	s.b.t.Helper()
	return receive(s.b.t, "turn", s.turns)
}

// idle fails when a turn comes that should not: the agent was woken and its
// dispatcher has run through.
func (s *socket) idle() {
	s.b.t.Helper()
	s.b.settle(s.agent)
	select {
	case d := <-s.turns:
		s.b.t.Fatalf("a turn came that should not: %s", d.Message.Content)
	default:
	}
}

// settle waits until no dispatcher runs for the agent, and claims once more.
func (b *bench) settle(agent access.Actor) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for b.g.Claiming(agent.ID) && time.Now().Before(deadline) {
		<-tick.C
	}
	b.g.ClaimNow(b.t.Context(), agent.ID)
}

// until waits for a query to give a number.
func (b *bench) until(want int, sql string, args ...any) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		got := b.Count(sql, args...)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("still %d, want %d: %s", got, want, sql)
		}
		<-tick.C
	}
}

func held(d flow.Delivery) flow.HeldClaim {
	return flow.HeldClaim{QueueID: d.Claim.QueueID, ExecutorID: d.Claim.ExecutorID}
}

func fenced(d flow.Delivery) flow.HeldClaim {
	h := held(d)
	h.Generation = new(d.Claim.Generation)
	return h
}

// reply posts as a stock bridge does.
func (b *bench) reply(agent access.Actor, d flow.Delivery, text string) view.Message {
	b.t.Helper()
	p, err := b.Chat.Post(b.t.Context(), agent, flow.Post{
		ConversationID: d.Message.ConversationID, Content: text, LastSeenMessageID: &d.LatestSeen,
		Metadata: json.RawMessage(fmt.Sprintf(`{"stream_id":%q}`, "s-"+d.Claim.QueueID.String())),
	})
	if err != nil {
		b.t.Fatalf("reply: %v", err)
	}
	return p.Message
}

func (b *bench) ack(agent access.Actor, d flow.Delivery) turn.Outcome {
	b.t.Helper()
	out, err := b.g.Ack(b.t.Context(), agent, held(d))
	if err != nil {
		b.t.Fatalf("ack: %v", err)
	}
	return out
}

func (b *bench) touch(agent access.Actor, d flow.Delivery) {
	b.t.Helper()
	if err := b.g.Touch(b.t.Context(), agent.ID, d.Message.ConversationID, nil, nil); err != nil {
		b.t.Fatalf("touch: %v", err)
	}
}

// state is the receipt's state of a message with an agent.
func (b *bench) state(agent access.Actor, m view.Message) string {
	b.t.Helper()
	rs, err := view.Receipts(context.Background(), b.DB, m.ConversationID, []id.Message{m.ID})
	if err != nil {
		b.t.Fatalf("receipts: %v", err)
	}
	at := slices.IndexFunc(rs, func(r view.Receipt) bool { return r.AgentID == agent.ID })
	if at < 0 {
		return ""
	}
	return rs[at].State
}

func (b *bench) meta(m view.Message, key string) string {
	b.t.Helper()
	got, err := view.OneMessage(context.Background(), b.DB, m.ID)
	if err != nil {
		b.t.Fatalf("read message: %v", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(got.Metadata, &all); err != nil {
		b.t.Fatalf("metadata: %v", err)
	}
	return string(all[key])
}

// lapse lets every lease end, as if the time had passed.
func (b *bench) lapse() {
	b.t.Helper()
	if _, err := b.DB.Exec(context.Background(), `UPDATE queued_messages SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL`); err != nil {
		b.t.Fatalf("lapse: %v", err)
	}
}

// couple is a person and an agent in a direct room, with one executor.
func (b *bench) couple(slots int, ours bool) (ada, bot access.Actor, room id.Conversation, ex id.Executor) {
	ada = b.Person("Ada")
	bot = b.Agent(ada, "Nova")
	return ada, bot, b.Room("direct", ada, bot), b.register(bot, "k", "i-1", slots, ours)
}

// registration names runs that survived the previous process.
func registration(key, instance string, slots int, kept ...id.Task) executor.Registration {
	return executor.Registration{Key: key, InstanceID: instance, MaxConcurrent: slots, Resumable: id.Strings(kept)}
}
