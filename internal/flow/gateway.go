package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/turn"
)

// GatewayConfig holds the times of claims and executors. Zero fields take the
// defaults that stand with them.
type GatewayConfig struct {
	MessageLease    time.Duration // AGNTCHAT_MESSAGE_LEASE: a claim's life after its last sign (600 s)
	MostTurn        time.Duration // a claim's life in all (3600 s)
	ExecutorTimeout time.Duration // AGNTCHAT_EXECUTOR_TIMEOUT: silence until offline (180 s)
	Sweep           time.Duration // how often expired claims are looked for (2 s)
	Poll            time.Duration // how often waiting work is looked for, as a net (5 s)
	MaxAttempts     int           // claims that may end without an answer (5)
}

func (c GatewayConfig) withDefaults() GatewayConfig {
	d := func(v *time.Duration, def time.Duration) {
		if *v == 0 {
			*v = def
		}
	}
	d(&c.MessageLease, 600*time.Second)
	d(&c.MostTurn, 3600*time.Second)
	d(&c.ExecutorTimeout, 180*time.Second)
	d(&c.Sweep, 2*time.Second)
	d(&c.Poll, 5*time.Second)
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 5
	}
	return c
}

// TurnRooms is what the gateway needs of Chat.
type TurnRooms interface {
	// Post stores a message in a transaction of its own, within the writer's rate.
	Post(ctx context.Context, actor access.Actor, in Post) (Posted, error)
	// PostTx stores a message; see Posted.
	PostTx(ctx context.Context, tx *pg.Tx, actor access.Actor, in Post) (Posted, error)
	// PatchMetadataTx merges top-level keys into a message's metadata, nil removes a
	// key, and tells the room; it does nothing when nothing changes.
	PatchMetadataTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, msg id.Message, set map[string]any) error
	// CancelStreams ends the live streams of an agent in a room, of all agents when
	// agent is zero, and says how many.
	CancelStreams(ctx context.Context, conv id.Conversation, agent id.Participant) int
}

// LiveBus carries what is only live.
type LiveBus interface {
	BroadcastAll(topics []string, m realtime.Message) error
}

// Gateway is the use cases of executors, claims and turns. The registry of
// executors and the dispatchers live in memory; what must not be lost is in
// Postgres, and Start rebuilds the rest from there.
type Gateway struct {
	DB    *pg.DB
	Rooms TurnRooms
	Bus   LiveBus
	Log   *slog.Logger
	// Finished hears of every turn that ended, after its commit. Nil hears nothing.
	Finished func(outcome string, waited, ran time.Duration)
	// StopAsking ends what an agent, zero for every agent, asks people in a room. Nil
	// does nothing.
	StopAsking func(ctx context.Context, tx *pg.Tx, room id.Conversation, agent id.Participant, reason string) error

	cfg     GatewayConfig
	sources []workSource                                                                   // messages first
	busy    []func(context.Context, pg.Querier, id.Participant) ([]id.Conversation, error) // rooms in which an agent works
	count   func(ctx context.Context, agent id.Participant, w *Waiting) error
	aside   func(ctx context.Context, agent id.Participant, c claimer) // hands out what takes no slot
	asides  *agentSet                                                  // agents for which something may wait there
	retire  []func(ctx context.Context, agent id.Participant) error
	adopt   []func(ctx context.Context, agent id.Participant, ex id.Executor, resumable []string)
	queue   *turn.Queue
	reg     *executorRegistry
	disp    *dispatcher // claims
	tell    *dispatcher // presence and activity
	signs   *signCache
	owed    *owed[turn.Claim]
	holder  *agentSet // agents that may hold claims: what the sweep looks at
	hashes  *agentParts
	budgets *agentSet // agents that may have one

	stop    context.CancelCauseFunc
	running sync.WaitGroup
	life    context.Context //nolint:containedctx // the life of the background work, from Start to Stop
}

// NewGateway makes the service; nothing runs before Start.
func NewGateway(db *pg.DB, rooms TurnRooms, bus LiveBus, log *slog.Logger, cfg GatewayConfig) *Gateway {
	cfg = cfg.withDefaults()
	g := &Gateway{
		DB: db, Rooms: rooms, Bus: bus, Log: log, cfg: cfg,
		queue: turn.NewQueue(cfg.MessageLease, cfg.MostTurn, approval.HeldIn("c.agent_id", "c.conversation_id")), reg: newExecutorRegistry(), signs: newSignCache(), owed: &owed[turn.Claim]{}, holder: newAgentSet(), hashes: newAgentParts(), budgets: newAgentSet(),
	}
	g.sources, g.asides = []workSource{messageWork{g}}, newAgentSet()
	g.busy = append(g.busy, turn.RoomsInWork)
	g.life, g.stop = context.WithCancelCause(context.Background())
	g.disp = newDispatcher(&g.running, func(agent id.Participant) { g.claimFor(g.life, agent) })
	g.tell = newDispatcher(&g.running, func(agent id.Participant) { g.tellAgent(g.life, agent) })
	return g
}

var errGatewayStopped = errors.New("the gateway stops")

// Start rebuilds the registry from Postgres, gives back the claims that nobody
// has confirmed (decision 13: no socket that got them is left), and starts the
// sweeps. It fails when the database does.
func (g *Gateway) Start(ctx context.Context) error {
	rows, err := executor.AllOnline(ctx, g.DB)
	if err != nil {
		return fmt.Errorf("read executors: %w", err)
	}
	for _, e := range rows {
		g.reg.put(e, e.LastSeenAt)
	}
	budgeted, err := turn.Budgeted(ctx, g.DB)
	if err != nil {
		return err
	}
	g.budgets.add(budgeted...)
	for _, s := range g.sources {
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	g.running.Go(func() { g.every(g.cfg.Sweep, g.sweepSources) })
	g.running.Go(func() { g.every(g.cfg.Poll, g.sweepExecutors) })
	return nil
}

// Stop ends dispatchers and sweeps and waits for them.
func (g *Gateway) Stop() {
	g.stop(errGatewayStopped)
	g.disp.close()
	g.tell.close()
	g.running.Wait()
}

func (g *Gateway) every(d time.Duration, f func(context.Context) error) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-g.life.Done():
			return
		case <-t.C:
			if err := f(g.life); err != nil && g.life.Err() == nil {
				g.Log.WarnContext(g.life, "gateway sweep failed", slog.Any("error", err))
			}
		}
	}
}

// Wake says that there may be work for these agents. It carries no content, never
// blocks, and may be called from AfterCommit.
func (g *Gateway) Wake(agents ...id.Participant) {
	for _, a := range agents {
		g.disp.wake(a)
	}
}

// Deliver is the River job of a message: it wakes the agents that still have it
// in their queue, tells bridges of ours that it waits behind their turn, and marks
// it as waiting where an agent is not reachable.
func (g *Gateway) Deliver(ctx context.Context, conv id.Conversation, msg id.Message) error {
	if waiting, err := turn.AgentsWaitingFor(ctx, g.DB, conv, msg); err != nil || len(waiting) == 0 {
		return err // most were claimed by the wake after the commit
	}
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		waiting, err := turn.AgentsWaitingFor(ctx, tx, conv, msg)
		if err != nil || len(waiting) == 0 {
			return err
		}
		behind, err := turn.RunningBefore(ctx, tx, conv, msg)
		if err != nil {
			return err
		}
		tx.AfterCommit(func() {
			g.Wake(waiting...)
			for _, b := range behind {
				g.reg.added(b.ExecutorID, AddedHint{b.QueueID, msg, conv})
			}
		})
		for _, a := range waiting {
			if !g.reg.online(a) {
				return g.awaitTx(ctx, tx, conv, msg, a)
			}
		}
		return nil
	})
}
