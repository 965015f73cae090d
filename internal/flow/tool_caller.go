package flow

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// caller finds out on whose behalf a call is made. What the bridge says is believed
// only where our own rows say so too: a message that the agent has or had a turn
// about, a task it works at, else the open turn of the room. A call that belongs to
// none of them is the agent's own initiative, which is its owner's; one that says that
// it belongs to a message of which no row tells, such as a deleted one, is nobody's.
func (t *Tools) caller(ctx context.Context, actor access.Actor, call ToolCall) (ToolCaller, error) {
	c := ToolCaller{Agent: actor}
	for _, s := range []string{call.ActiveConversationID, call.ConversationID} {
		if v, err := id.Parse[id.Conversation](s); err == nil && c.Room.IsZero() {
			c.Room = v
		}
	}
	c.LastSeen, _ = id.Parse[id.Message](call.LastSeenMessageID) // anything else is none
	source, _ := id.Parse[id.Message](call.SourceMessageID)      // anything else is none
	lost := false
	var about []view.TurnMessage
	if !source.IsZero() {
		var err error
		if about, err = view.MessagesOfTurn(ctx, t.DB, actor.ID, source); err != nil {
			return c, err
		}
		if lost = len(about) == 0; lost {
			source = id.Message{}
		}
	}
	if task, err := id.Parse[id.Task](call.TaskID); err == nil && t.Tasks != nil {
		talk, err := t.ofTask(ctx, &c, task, source)
		switch {
		case err != nil:
			return c, err
		case !c.Task.IsZero() && !talk:
			c.Marked, err = view.TaskTainted(ctx, t.DB, actor.OwnerID, c.Task)
			return c, err
		}
	}
	if source.IsZero() && !c.Room.IsZero() {
		var err error
		if source, err = view.OpenMessage(ctx, t.DB, actor.ID, c.Room); err != nil {
			return c, err
		}
	}
	switch {
	case lost && source.IsZero():
		c.Marked = true // whoever wrote it may have been anybody
		return c, nil
	case source.IsZero():
		c.Person = personFor(actor, actor.OwnerID)
		return c, nil
	}
	return c, answering(ctx, t.DB, &c, source, about)
}

// Behalf finds out on whose behalf somebody acts by REST, outside of tools. People act
// for themselves. For an agent the request says what it belongs to, and there the model
// may have written it: the message says which room the turn is in, and an agent that
// names neither a message of a turn nor a task acts for whoever it has open turns for.
// For nobody, when these are several.
func (t *Tools) Behalf(ctx context.Context, actor access.Actor, call ToolCall) (ToolCaller, error) {
	if !actor.IsAgent() {
		return ToolCaller{Agent: actor, Person: actor}, nil
	}
	if anchor, err := id.Parse[id.Message](call.SourceMessageID); err == nil {
		about, err := view.MessagesOfTurn(ctx, t.DB, actor.ID, anchor)
		if err != nil {
			return ToolCaller{}, err
		}
		if len(about) == 0 { // one that is there only says what a huddle is about
			if _, err := chat.GetBrief(ctx, t.DB, anchor); err == nil {
				call.SourceMessageID = ""
			} else if goneIsNil(err) != nil {
				return ToolCaller{}, err
			}
		}
	}
	c, err := t.caller(ctx, actor, call)
	switch {
	case err != nil:
		return c, err
	case !c.SourceMessage.IsZero():
		m, err := chat.GetBrief(ctx, t.DB, c.SourceMessage)
		c.Room = m.ConversationID // none for one that was deleted meanwhile
		return c, goneIsNil(err)
	case !c.Task.IsZero() || !c.Person.IsPerson():
		c.Room = id.Conversation{}
		return c, nil
	}
	open, err := view.OpenMessages(ctx, t.DB, actor.ID)
	if err != nil || len(open) == 0 {
		return c, err
	}
	o, err := began(ctx, t.DB, actor, open)
	c.Room, c.Person, c.Marked = id.Conversation{}, o.person(), o.marked
	return c, err
}

// answering finds on whose behalf a message is answered, and whether untrusted text
// has entered. about are the messages of the turn, which may be several of several
// people; nil: they are looked up.
func answering(ctx context.Context, q pg.Querier, c *ToolCaller, source id.Message, about []view.TurnMessage) (err error) {
	c.SourceMessage = source
	if about == nil {
		if about, err = view.MessagesOfTurn(ctx, q, c.Agent.ID, source); err != nil {
			return err
		}
	}
	if len(about) == 0 {
		about = []view.TurnMessage{{ID: source, SenderKind: chat.Agent}} // no turn is known: its chain tells
	}
	o, err := began(ctx, q, c.Agent, about)
	if err != nil {
		return err
	}
	ids := make([]id.Message, len(about))
	for n, m := range about {
		ids[n] = m.ID
	}
	c.Person = o.person()
	if c.Marked = o.marked; !c.Marked {
		c.Marked, err = tool.Marked(ctx, q, c.Agent.ID, ids)
	}
	for _, m := range about {
		if err == nil && !c.Marked && m.Decides {
			c.Marked, err = heldMarked(ctx, q, c.Agent, m.ID)
		}
	}
	if err == nil && !c.Marked && !c.Task.IsZero() { // talk beside the run of a task
		c.Marked, err = view.TaskTainted(ctx, q, c.Agent.OwnerID, c.Task)
	}
	return err
}

// heldMarked reports that the call about which a decision tells was made in a marked turn:
// the answer of a person does not make what the agent has read clean.
func heldMarked(ctx context.Context, q pg.Querier, agent access.Actor, decision id.Message) (bool, error) {
	source, task, err := view.HeldCall(ctx, q, agent.ID, decision)
	switch {
	case err != nil:
		return false, err
	case !source.IsZero() && source != decision:
		before := ToolCaller{Agent: agent}
		if err := answering(ctx, q, &before, source, nil); err != nil || before.Marked {
			return before.Marked, err
		}
	}
	if task.IsZero() {
		return false, nil
	}
	return view.TaskTainted(ctx, q, agent.OwnerID, task)
}

// ofTask takes the task that a call names, if the agent does it. A call of its run is
// made for who asked for the task. talk: the call belongs to a message that
// was written in the work room; it is made for who wrote that, for not everybody
// who may write there may act for the requester.
func (t *Tools) ofTask(ctx context.Context, c *ToolCaller, task id.Task, source id.Message) (talk bool, err error) {
	person, ok, err := t.Tasks.RequesterOf(ctx, c.Agent.ID, task)
	if err != nil || !ok {
		return false, err
	}
	if !source.IsZero() {
		if talk, err = view.SaidAtWork(ctx, t.DB, source, task); err != nil {
			return false, err
		}
	}
	c.Task = task
	if !talk {
		c.Person = personFor(c.Agent, person)
	}
	return talk, nil
}

func personFor(agent access.Actor, p id.Participant) access.Actor {
	if p.IsZero() {
		return access.Actor{}
	}
	return access.Actor{Kind: access.Person, ID: p, OwnerID: p, OrganizationID: agent.OrganizationID}
}

// mostCauses bounds how many messages are looked at to find who began.
const mostCauses = 24

// trail leads to what stands at the beginning of a turn: the people who caused it, and
// whether text that neither they nor agents of the same owner wrote has come with it.
type trail struct {
	agent  access.Actor // whose turn it is
	people map[id.Participant]bool
	marked bool
	seen   map[id.Message]bool
}

// began finds who began what an agent does about these messages.
func began(ctx context.Context, q pg.Querier, agent access.Actor, about []view.TurnMessage) (trail, error) {
	o := trail{agent: agent, people: map[id.Participant]bool{}, seen: map[id.Message]bool{}}
	for _, m := range about {
		if m.SenderKind == chat.Human {
			o.people[m.SenderID] = true
			continue
		}
		if err := o.follow(ctx, q, m.ID); err != nil {
			return o, err
		}
	}
	return o, nil
}

// person is the one person who began it; nobody when there are several.
func (o *trail) person() access.Actor {
	for p := range o.people {
		if len(o.people) == 1 {
			return personFor(o.agent, p)
		}
	}
	return access.Actor{}
}

// follow follows a message back to the people who caused it. Two of them, or a chain
// that is too long, mean that it is nobody's alone: the zero id is added. A mark is
// handed on: what an agent was told by a page it may tell the next one.
func (o *trail) follow(ctx context.Context, q pg.Querier, msg id.Message) error {
	if o.seen[msg] {
		return nil
	}
	o.seen[msg] = true
	if len(o.seen) > mostCauses {
		o.people[id.Participant{}], o.marked = true, true
		return nil
	}
	c, ok, err := view.CauseOf(ctx, q, msg)
	switch {
	case err != nil:
		return err
	case !ok:
		o.people[id.Participant{}] = true
		return nil
	case c.SenderKind == chat.Human:
		o.people[c.SenderID] = true
		return nil
	case c.SenderKind != chat.Agent:
		o.people[id.Participant{}] = true
		return nil
	case len(c.Triggers) == 0 && len(c.Tasks) == 0:
		o.people[c.OwnerID] = true // it spoke by itself
	}
	if err := o.taint(ctx, q, c); err != nil {
		return err
	}
	for _, t := range c.Tasks {
		o.people[t.RequesterID] = true
	}
	for _, m := range c.Triggers {
		if err := o.follow(ctx, q, m); err != nil {
			return err
		}
	}
	return nil
}

// taint finds out whether an agent's message brings untrusted text with it.
func (o *trail) taint(ctx context.Context, q pg.Querier, c view.Cause) (err error) {
	if o.marked = o.marked || c.OwnerID != o.agent.OwnerID; !o.marked && len(c.Triggers) > 0 {
		o.marked, err = tool.Marked(ctx, q, c.SenderID, c.Triggers)
	}
	for _, t := range c.Tasks {
		if err == nil && !o.marked {
			o.marked, err = view.TaskTainted(ctx, q, o.agent.OwnerID, t.TaskID)
		}
	}
	return err
}

// mayReach: the person could write to this participant themselves.
func mayReach(ctx context.Context, q pg.Querier, person access.Actor, peer id.Participant) error {
	org, err := ownWorkspace(ctx, q, person, person.OrganizationID)
	if err != nil {
		return err
	}
	known, err := view.Reachable(ctx, q, person.ID, person.OwnerID, org, []id.Participant{peer})
	if err != nil {
		return err
	}
	if _, ok := known[peer]; !ok && peer != person.ID {
		return fault.ErrNotFound
	}
	return nil
}

// ownWorkspace is a workspace in which somebody looks for others: none for a person who
// is a guest there, who reaches nobody by it.
func ownWorkspace(ctx context.Context, q pg.Querier, who access.Actor, org id.Organization) (id.Organization, error) {
	if !who.IsPerson() || org.IsZero() {
		return org, nil
	}
	guests, err := view.Guests(ctx, q, org, []id.Participant{who.ID})
	if err != nil || guests[who.ID] {
		return id.Organization{}, err
	}
	return org, nil
}

// arguments fills in what a model cannot know (bridge contract 5.2) and validates.
func (t *Tools) arguments(spec tool.Spec, call ToolCall, c ToolCaller) (ToolArgs, error) {
	args, err := newToolArgs(call.Args)
	if err != nil {
		return args, err
	}
	fill := func(key, value string, placeholder func(string) bool) error {
		if value == "" || !t.registry.Takes(spec.Name, key) || (args.Has(key) && !placeholder(args.Text(key))) {
			return nil
		}
		if _, isText := args.Value(key).(string); args.Has(key) && !isText {
			return nil
		}
		return args.set(key, value)
	}
	for _, f := range []struct {
		key, value  string
		placeholder func(string) bool
	}{
		{"conversation_id", orEmpty(c.Room), placeholderRoom}, {"active_conversation_id", orEmpty(c.Room), placeholderRoom},
		{"source_conversation_id", orEmpty(c.Room), placeholderRoom}, {"huddle_id", orEmpty(c.Room), placeholderRoom},
		{"task_id", orEmpty(c.Task), placeholderTask}, {"queued_task_id", orEmpty(c.Task), placeholderTask}, {"opened_by_task_id", orEmpty(c.Task), placeholderTask},
		{"user_id", orEmpty(c.Agent.OwnerID), func(string) bool { return true }},
		{"source_message_id", orEmpty(c.SourceMessage), blank}, {"last_seen_message_id", orEmpty(c.LastSeen), blank},
	} {
		if err := fill(f.key, f.value, f.placeholder); err != nil {
			return args, err
		}
	}
	return args, t.registry.Check(spec.Name, args.Raw)
}

func orEmpty[T interface {
	IsZero() bool
	fmt.Stringer
}](v T) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func bare(s string) string { return strings.ToLower(strings.Trim(s, "<> ")) }

func placeholderRoom(s string) bool {
	switch s = bare(s); s {
	case "", "current", "this", "this_conv", "this_conversation", "conversation_id", "conv_id":
		return true
	default:
		return strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}")
	}
}

func placeholderTask(s string) bool {
	switch s = bare(s); s {
	case "", "current", "current_task", "task", "task_id", "this", "this_task":
		return true
	default:
		return strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}")
	}
}

// inFlight counts what runs, per agent.
type inFlight struct {
	mu   sync.Mutex
	most int
	n    map[id.Participant]int
}

func newInFlight(most int) *inFlight { return &inFlight{most: most, n: map[id.Participant]int{}} }

func (f *inFlight) enter(a id.Participant) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[a] >= f.most {
		return false
	}
	f.n[a]++
	return true
}

func (f *inFlight) leave(a id.Participant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[a]--; f.n[a] <= 0 {
		delete(f.n, a)
	}
}
