// Package flowtest makes people, agents and rooms for tests of what composes
// them. Rows are written directly: sign-up and agent management have tests of
// their own. Everything is real but the gateway, whose part is recorded.
package flowtest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/stream"
	"github.com/agntchat/agntchat/internal/turn"
)

// World is a database with a chat over it.
type World struct {
	t     testing.TB
	DB    *pg.DB
	Bus   *realtime.Bus
	Chat  *flow.Chat
	Turns *Turns
	// Org is the workspace in which everybody is unless told otherwise.
	Org id.Organization

	mu     sync.Mutex
	events []event.Event
	also   pg.Deliverer
}

// Turns stands in for the gateway and records what it is told.
type Turns struct {
	mu      sync.Mutex
	woken   []id.Participant
	touches int
	Lost    error // what Touch answers
}

// Touch implements flow.TurnKeeper.
func (r *Turns) Touch(context.Context, id.Participant, id.Conversation, *id.QueueItem, *int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touches++
	return r.Lost
}

// Wake implements flow.TurnKeeper.
func (r *Turns) Wake(agents ...id.Participant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.woken = append(r.woken, agents...)
}

// Woken is who was woken so far.
func (r *Turns) Woken() []id.Participant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]id.Participant(nil), r.woken...)
}

// New makes an empty world with one workspace.
func New(t testing.TB, opts ...pgtest.Option) *World {
	t.Helper()
	db := pgtest.DB(t, opts...)
	bus := realtime.NewBus(realtime.Config{})
	w := &World{t: t, DB: db, Bus: bus, Turns: &Turns{}}
	w.Chat = &flow.Chat{
		DB: db, Streams: stream.New(bus, stream.Config{}), Turns: w.Turns, Log: slog.New(slog.DiscardHandler),
		Deliver: func(ctx context.Context, tx *pg.Tx, a turn.DeliverArgs) error {
			_, err := tx.Exec(ctx, `INSERT INTO delivery_jobs (conversation_id, message_id) VALUES ($1::uuid, $2::uuid)`, a.ConversationID, a.MessageID)
			return err
		},
	}
	w.exec(`CREATE TABLE delivery_jobs (conversation_id uuid NOT NULL, message_id uuid NOT NULL)`)
	db.SetDeliverer(w)
	return w
}

// Also gives the events to a further deliverer.
func (w *World) Also(d pg.Deliverer) { w.also = d }

// Deliver implements pg.Deliverer.
func (w *World) Deliver(ctx context.Context, evs []event.Event) {
	w.mu.Lock()
	w.events = append(w.events, evs...)
	w.mu.Unlock()
	if w.also != nil {
		w.also.Deliver(ctx, evs)
	}
}

// Events are the events delivered so far.
func (w *World) Events() []event.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]event.Event(nil), w.events...)
}

// EventsOf are the events of one type delivered so far.
func EventsOf[E event.Event](w *World) []E {
	var out []E
	for _, e := range w.Events() {
		if v, ok := e.(E); ok {
			out = append(out, v)
		}
	}
	return out
}

func (w *World) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.DB.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("fixture: %v", err)
	}
}

// Count is the number that a query gives.
func (w *World) Count(sql string, args ...any) int {
	w.t.Helper()
	var n int
	if err := w.DB.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		w.t.Fatalf("count: %v", err)
	}
	return n
}

// Person makes a person with a workspace of their own, who is also a member of
// the world's workspace and looks at it.
func (w *World) Person(name string) access.Actor {
	w.t.Helper()
	a := w.Stranger(name)
	if w.Org.IsZero() {
		w.Org = id.New[id.Organization]()
		w.exec(`INSERT INTO organizations (id, name, is_personal, owner_id) VALUES ($1::uuid, 'Team', false, $2::uuid)`, w.Org, a.ID)
	}
	w.exec(`INSERT INTO memberships (organization_id, account_id, role) VALUES ($1::uuid, $2::uuid, 'member')`, w.Org, a.ID)
	a.OrganizationID = w.Org
	return a
}

// Stranger makes a person in a personal workspace only.
func (w *World) Stranger(name string) access.Actor {
	w.t.Helper()
	p, org := id.New[id.Participant](), id.New[id.Organization]()
	w.exec(`INSERT INTO participants (id, kind, display_name) VALUES ($1::uuid, 'human', $2::text)`, p, name)
	w.exec(`INSERT INTO accounts (id, email) VALUES ($1::uuid, $2::text)`, p, p.String()+"@example.com")
	w.exec(`INSERT INTO organizations (id, name, is_personal, owner_id) VALUES ($1::uuid, 'Personal', true, $2::uuid)`, org, p)
	w.exec(`INSERT INTO memberships (organization_id, account_id, role) VALUES ($1::uuid, $2::uuid, 'owner')`, org, p)
	return access.Actor{Kind: access.Person, ID: p, OwnerID: p, OrganizationID: org, DisplayName: name}
}

// Agent makes an agent of a person in the person's workspace.
func (w *World) Agent(owner access.Actor, name string) access.Actor {
	w.t.Helper()
	p := id.New[id.Participant]()
	w.exec(`INSERT INTO participants (id, kind, display_name) VALUES ($1::uuid, 'agent', $2::text)`, p, name)
	w.exec(`INSERT INTO agents (id, owner_id, organization_id, key_prefix, key_hash) VALUES ($1::uuid, $2::uuid, $3::uuid, $4::text, '\x00'::bytea)`,
		p, owner.ID, owner.OrganizationID, p.String())
	return access.Actor{Kind: access.Agent, ID: p, OwnerID: owner.ID, OrganizationID: owner.OrganizationID, DisplayName: name}
}

// Room makes a room; who comes first makes it.
func (w *World) Room(kind string, by access.Actor, others ...access.Actor) id.Conversation {
	w.t.Helper()
	n := flow.NewConversation{Type: kind}
	if kind != "direct" {
		n.Title = new("Room")
	}
	for _, o := range others {
		n.MemberIDs = append(n.MemberIDs, o.ID)
	}
	c, _, err := w.Chat.CreateConversation(context.Background(), by, n)
	if err != nil {
		w.t.Fatalf("make room: %v", err)
	}
	return c.ID
}

// Say posts a text and fails the test when it cannot.
func (w *World) Say(who access.Actor, room id.Conversation, format string, args ...any) flow.Posted {
	w.t.Helper()
	p, err := w.Chat.Post(context.Background(), who, flow.Post{ConversationID: room, Content: fmt.Sprintf(format, args...)})
	if err != nil {
		w.t.Fatalf("post: %v", err)
	}
	return p
}

// Claim gives an agent the open claim of a message, as a dispatcher would.
func (w *World) Claim(agent access.Actor, message id.Message) {
	w.t.Helper()
	w.exec(`UPDATE queued_messages SET lease_until = now() + interval '10 minutes', claimed_at = now(), generation = generation + 1, executor_id = gen_random_uuid()
		WHERE agent_id = $1::uuid AND message_id = $2::uuid`, agent.ID, message)
}
