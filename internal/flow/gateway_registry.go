package flow

import (
	"slices"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/id"
)

// ExecutorSocket is one joined socket of an executor. Its methods only enqueue.
type ExecutorSocket interface {
	// Deliver pushes one claimed turn. An error means that it will not arrive.
	Deliver(d Delivery) error
	// DeliverApproval pushes what was decided to the run that waits for it.
	DeliverApproval(d ApprovalDelivery) error
	// DeliverQuery pushes a question to the agent's model, DeliverScope a request to word a task.
	DeliverQuery(q ask.Query) error
	DeliverScope(s ask.Scope) error
	// DeliverTask pushes one claimed task.
	DeliverTask(d TaskDelivery) error
	// Command pushes a control directive.
	Command(c Command) error
	// Added hints that more waits behind the running turn (ours only).
	Added(w AddedHint) error
	// Shut closes the connection.
	Shut(reason string)
}

// Command is a control directive to a bridge (bridge contract 2.11).
type Command struct {
	Type           string // shutdown | stop_generation | stop_task
	Reason         string
	ConversationID id.Conversation
	TaskID         id.Task
	IssuedAt       time.Time
}

// AddedHint names a message that waits behind the running turn.
type AddedHint struct {
	QueueID        id.QueueItem
	MessageID      id.Message
	ConversationID id.Conversation
}

// executorRegistry is which executors are reachable, in memory (row B3). It is
// rebuilt from Postgres at start; every change goes through Gateway.
type executorRegistry struct {
	mu        sync.Mutex
	executors map[id.Executor]*reachable
	byAgent   map[id.Participant][]*reachable
	shown     map[id.Participant]shownState // what people were told last
	external  map[id.Participant]string     // hosts of agents with a live CLI session
}

// reachable is one executor.
type reachable struct {
	id            id.Executor
	agent         id.Participant
	instance      string
	version       string
	maxConcurrent int
	ours          bool
	device        *string
	seen          time.Time
	offline       bool
	sockets       []ExecutorSocket // oldest first
	pushed        map[ExecutorSocket]map[id.QueueItem]struct{}
	commands      []Command // for the next heartbeat, when no socket took them
}

type shownState struct {
	online bool
	rooms  map[id.Conversation]struct{}
}

func newExecutorRegistry() *executorRegistry {
	return &executorRegistry{executors: map[id.Executor]*reachable{}, byAgent: map[id.Participant][]*reachable{}, shown: map[id.Participant]shownState{}, external: map[id.Participant]string{}}
}

// put adds or updates an executor that was heard of at the given time.
func (r *executorRegistry) put(e executor.Executor, seen time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[e.ID]
	if x == nil {
		x = &reachable{id: e.ID, agent: e.AgentID, pushed: map[ExecutorSocket]map[id.QueueItem]struct{}{}}
		r.executors[e.ID] = x
		r.byAgent[e.AgentID] = append(r.byAgent[e.AgentID], x)
	}
	x.instance, x.version, x.maxConcurrent, x.ours, x.device = e.InstanceID, e.BridgeVersion, e.MaxConcurrent, e.Ours, e.DeviceName
	x.offline = e.Status != executor.Online
	if seen.After(x.seen) {
		x.seen = seen
	}
}

// join adds a socket, and tells whether the executor had been taken offline since
// it was revived.
func (r *executorRegistry) join(ex id.Executor, s ExecutorSocket) (wasOffline bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	if x == nil {
		return false
	}
	x.sockets = append(x.sockets, s)
	x.pushed[s] = map[id.QueueItem]struct{}{}
	wasOffline = x.offline
	x.offline, x.seen = false, time.Now()
	return wasOffline
}

// leave removes a socket and returns what was pushed down it and is not yet
// known to be over; false when the socket was taken away before.
func (r *executorRegistry) leave(ex id.Executor, s ExecutorSocket) ([]id.QueueItem, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	if x == nil {
		return nil, false
	}
	at := slices.Index(x.sockets, s)
	if at < 0 {
		return nil, false
	}
	x.sockets = slices.Delete(x.sockets, at, at+1)
	x.seen = time.Now()
	return x.drop(s), true
}

func (x *reachable) drop(s ExecutorSocket) []id.QueueItem {
	out := make([]id.QueueItem, 0, len(x.pushed[s]))
	for q := range x.pushed[s] {
		out = append(out, q)
	}
	delete(x.pushed, s)
	return out
}

// takeSockets removes all sockets of an executor, so that nothing is pushed down
// them any more, and returns them.
func (r *executorRegistry) takeSockets(ex id.Executor) []ExecutorSocket {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	if x == nil {
		return nil
	}
	out := x.sockets
	for _, s := range out {
		x.drop(s)
	}
	x.sockets = nil
	return out
}

// setOffline marks an executor as gone.
func (r *executorRegistry) setOffline(ex id.Executor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.executors[ex]; x != nil {
		x.offline, x.commands = true, nil
	}
}

// claimer is an executor that can take work now.
type claimer struct {
	id    id.Executor
	slots int
	ours  bool
	sock  ExecutorSocket // the newest

	answersQueries bool
}

// claimers are the agent's executors with a joined socket.
func (r *executorRegistry) claimers(agent id.Participant) []claimer {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []claimer
	for _, x := range r.byAgent[agent] {
		if len(x.sockets) > 0 {
			out = append(out, claimer{x.id, x.maxConcurrent, x.ours, x.sockets[len(x.sockets)-1], knowsQueries(x.version, x.ours)})
		}
	}
	return out
}

// note remembers that a turn went down a socket; false when the socket is gone,
// and the turn is to be given back.
func (r *executorRegistry) note(ex id.Executor, s ExecutorSocket, q id.QueueItem) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	if x == nil || x.pushed[s] == nil {
		return false
	}
	x.pushed[s][q] = struct{}{}
	return true
}

// forget drops a turn that is over.
func (r *executorRegistry) forget(ex id.Executor, q id.QueueItem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.executors[ex]; x != nil {
		for _, set := range x.pushed {
			delete(set, q)
		}
	}
}

// joinedAgents lists the agents with a joined socket.
func (r *executorRegistry) joinedAgents() []id.Participant {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []id.Participant
	for a, xs := range r.byAgent {
		if slices.ContainsFunc(xs, func(x *reachable) bool { return len(x.sockets) > 0 }) {
			out = append(out, a)
		}
	}
	return out
}

// silent lists executors without a socket that were not heard of since before.
func (r *executorRegistry) silent(before time.Time) []id.Executor {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []id.Executor
	for _, x := range r.executors {
		if x.silentSince(before) {
			out = append(out, x.id)
		}
	}
	return out
}

func (x *reachable) silentSince(before time.Time) bool {
	return !x.offline && len(x.sockets) == 0 && x.seen.Before(before)
}

// silence marks an executor offline if it is still silent, and names its agent.
func (r *executorRegistry) silence(ex id.Executor, before time.Time) (agent id.Participant, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	if x == nil || !x.silentSince(before) {
		return id.Participant{}, false
	}
	x.offline, x.commands = true, nil
	return x.agent, true
}

// unsilence takes that back: the row says that it lives.
func (r *executorRegistry) unsilence(ex id.Executor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.executors[ex]; x != nil {
		x.offline, x.seen = false, time.Now()
	}
}

// online reports that one of the agent's executors is: its socket is joined or
// its heartbeat is fresh.
func (r *executorRegistry) online(agent id.Participant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.onlineLocked(agent)
}

func (r *executorRegistry) onlineLocked(agent id.Participant) bool {
	if _, live := r.external[agent]; live {
		return true
	}
	return slices.ContainsFunc(r.byAgent[agent], func(x *reachable) bool { return !x.offline })
}

// executorOnline reports one executor.
func (r *executorRegistry) executorOnline(ex id.Executor) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	return x != nil && !x.offline
}

// command sends a directive down the newest socket, or keeps it for the next
// heartbeat; false when the executor is not reachable.
func (r *executorRegistry) command(ex id.Executor, c Command) bool {
	r.mu.Lock()
	x := r.executors[ex]
	if x == nil || x.offline {
		r.mu.Unlock()
		return false
	}
	var s ExecutorSocket
	if n := len(x.sockets); n > 0 {
		s = x.sockets[n-1]
	}
	r.mu.Unlock()
	if s != nil && s.Command(c) == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(x.commands) < 50 {
		x.commands = append(x.commands, c)
	}
	return true
}

// added hints down the newest socket; it may be lost.
func (r *executorRegistry) added(ex id.Executor, h AddedHint) {
	r.mu.Lock()
	x := r.executors[ex]
	if x == nil || len(x.sockets) == 0 {
		r.mu.Unlock()
		return
	}
	s := x.sockets[len(x.sockets)-1]
	r.mu.Unlock()
	_ = s.Added(h) // a socket that is gone needs no hint
}

// takeCommands hands out what waits for a heartbeat.
func (r *executorRegistry) takeCommands(ex id.Executor) []Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	if x == nil {
		return nil
	}
	out := x.commands
	x.commands = nil
	return out
}

// pending is the newest command that waits, for health.
func (r *executorRegistry) pending(ex id.Executor) *Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.executors[ex]
	if x == nil || len(x.commands) == 0 {
		return nil
	}
	return new(x.commands[len(x.commands)-1])
}

// ofAgent lists ids of the agent's executors that are not offline.
func (r *executorRegistry) ofAgent(agent id.Participant) []id.Executor {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []id.Executor
	for _, x := range r.byAgent[agent] {
		if !x.offline {
			out = append(out, x.id)
		}
	}
	return out
}
