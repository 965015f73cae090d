package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/secret"
	"github.com/agntchat/agntchat/internal/turn"
)

// desk is a bench at which agents ask and people decide.
type desk struct {
	*bench
	s           *flow.Approvals
	owner, peer access.Actor
	bot, other  access.Actor
	room        id.Conversation
	ex          id.Executor
	jobs        *deskJobs
}

// deskJobs records what River would be given.
type deskJobs struct {
	mu      sync.Mutex
	expire  []time.Time
	answers []approval.AnswerArgs
	added   chan struct{}
}

func (j *deskJobs) ExpireAt(_ context.Context, tx *pg.Tx, at time.Time) error {
	tx.AfterCommit(func() { j.mu.Lock(); j.expire = append(j.expire, at); j.mu.Unlock() })
	return nil
}

func (j *deskJobs) Answer(_ context.Context, tx *pg.Tx, args approval.AnswerArgs) error {
	tx.AfterCommit(func() { j.mu.Lock(); j.answers = append(j.answers, args); j.mu.Unlock(); j.added <- struct{}{} })
	return nil
}

// say works the recorded answers, as River would.
func (d *desk) say() {
	d.t.Helper()
	d.jobs.mu.Lock()
	list := d.jobs.answers
	d.jobs.answers = nil
	d.jobs.mu.Unlock()
	for _, a := range list {
		for range 2 { // a job may run twice
			if err := d.s.Say(d.t.Context(), a); err != nil {
				d.t.Fatalf("say: %v", err)
			}
		}
	}
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return deskOn(newBench(t, quick))
}

// newTaskDesk has tasks too.
func newTaskDesk(t *testing.T) *desk {
	t.Helper()
	return deskOn(newTaskBench(t))
}

func deskOn(b *bench) *desk {
	d := &desk{bench: b, jobs: &deskJobs{added: make(chan struct{}, 100)}}
	d.owner, d.peer = d.Person("Olga"), d.Person("Pia")
	d.bot, d.other = d.Agent(d.owner, "Bot"), d.Agent(d.peer, "Other")
	d.room = d.Room("group", d.owner, d.peer, d.bot)
	d.open()
	d.ex = d.register(d.bot, "k", "i", 2, true)
	return d
}

// open makes the service and has the gateway serve it, as app does.
func (d *desk) open() {
	ring, err := secret.ParseRing(secret.Generate())
	if err != nil {
		d.t.Fatal(err)
	}
	d.g.Stop()
	d.g = flow.NewGateway(d.DB, d.Chat, d.Bus, slog.New(slog.DiscardHandler), d.cfg)
	d.Chat.Turns, d.Chat.Forget, d.Chat.Withdraw = d.g, d.g.ForgetTx, d.g.WithdrawTx
	d.s = flow.NewApprovals(d.DB, ring, d.Chat, d.jobs, d.g.Wake, slog.New(slog.DiscardHandler))
	if d.tasks {
		d.k = flow.NewTasks(d.g, d.Chat, quickTasks)
		d.Chat.Answered = d.k.AnsweredByTx
		d.s.Tasks, d.k.Approvals = d.k, d.s
	}
	d.s.ServeOn(d.g)
	d.g.StopAsking = d.s.StopTx
	if err := d.g.Start(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(d.g.Stop)
}

func command(s string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"command": s})
	return b
}

// stock asks as a polling bridge does, in the room.
func (d *desk) stock(cmd string) approval.Approval {
	d.t.Helper()
	a, err := d.s.Ask(d.t.Context(), d.bot, flow.AskApproval{ToolName: "Bash", Input: command(cmd), Description: "Run command: " + cmd, ConversationID: d.room})
	if err != nil {
		d.t.Fatalf("ask: %v", err)
	}
	return a
}

func (d *desk) durable(run, call, cmd string) flow.AskApproval {
	return flow.AskApproval{
		ToolName: "Bash", Input: command(cmd), ConversationID: d.room, Durable: true, ExecutorID: d.ex, RunID: run, ToolUseID: call,
		Resume: json.RawMessage(`{"session":"` + run + `", "n": 1}`),
	}
}

func (d *desk) ask(in flow.AskApproval) approval.Approval {
	d.t.Helper()
	a, err := d.s.Ask(d.t.Context(), d.bot, in)
	if err != nil {
		d.t.Fatalf("ask: %v", err)
	}
	return a
}

func (d *desk) decide(a approval.Approval, v flow.Verdict) {
	d.t.Helper()
	if _, err := d.s.Resolve(d.t.Context(), d.owner, a.ID, v); err != nil {
		d.t.Fatalf("decide: %v", err)
	}
}

func (d *desk) state(a approval.Approval) approval.State {
	d.t.Helper()
	got, err := d.s.Look(d.t.Context(), d.bot, a.ID)
	if err != nil {
		d.t.Fatalf("look: %v", err)
	}
	return got.Status
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// overdue moves the end of a request into the past.
func (d *desk) overdue(a approval.Approval) {
	d.t.Helper()
	if _, err := d.DB.Exec(d.t.Context(), `UPDATE approvals SET expires_at = now() - interval '1 second' WHERE id = $1::uuid`, a.ID); err != nil {
		d.t.Fatal(err)
	}
}

var (
	yes = flow.Verdict{Act: approval.Approve}
	no  = flow.Verdict{Act: approval.Deny}
)

// TestS1_OnlyThoseWhoWereAskedDecide: the asker's owner. To everybody else the
// request does not exist, and no agent decides, not even the owner's other one.
func TestS1_OnlyThoseWhoWereAskedDecide(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	second := d.Agent(d.owner, "Second")
	a := d.stock("make")
	if len(a.Approvers) != 1 || a.Approvers[0] != d.owner.ID {
		t.Fatalf("approvers %v", a.Approvers)
	}
	if asked := eventsTo[flow.ApprovalAsked](d); len(asked) != 1 || asked[0].To != d.owner.ID {
		t.Errorf("told %v", asked)
	}
	for who, code := range map[*access.Actor]string{
		&d.peer: "not_found", &d.bot: "people_only", &d.other: "people_only", &second: "people_only", {Kind: access.Job}: "unauthenticated", {}: "unauthenticated",
	} {
		_, err := d.s.Resolve(t.Context(), *who, a.ID, yes)
		wantCode(t, "decide as "+who.DisplayName, err, code)
	}
	impostor := d.owner // a person's id with an agent's kind
	impostor.Kind = access.Agent
	_, err := d.s.Resolve(t.Context(), impostor, a.ID, yes)
	wantCode(t, "decide as an agent with the owner's id", err, "people_only")
	for _, who := range []access.Actor{d.peer, d.bot, d.other} {
		if list, err := d.s.Pending(t.Context(), who); err != nil || len(list) != 0 {
			t.Errorf("%s sees %d, %v", who.DisplayName, len(list), err)
		}
		if list, err := d.s.PastDecisions(t.Context(), who, nil, 10); (err == nil) != who.IsPerson() || len(list) != 0 {
			t.Errorf("%s sees a history of %d, %v", who.DisplayName, len(list), err)
		}
	}
	for _, who := range []access.Actor{d.other, second} {
		_, err := d.s.Look(t.Context(), who, a.ID)
		wantCode(t, "look as "+who.DisplayName, err, "not_found")
		_, err = d.s.Cancel(t.Context(), who, a.ID)
		wantCode(t, "cancel as "+who.DisplayName, err, "not_found")
		_, err = d.s.Redeem(t.Context(), who, a.ID, "Bash", command("make"), "k")
		wantCode(t, "redeem as "+who.DisplayName, err, "not_found")
	}
	if got := d.state(a); got != approval.Pending {
		t.Fatalf("it is %s", got)
	}
	d.decide(a, yes)
	if got := d.state(a); got != approval.Approved {
		t.Errorf("it is %s", got)
	}
}

// TestS1_FailsClosed: nobody to ask, a room in which the agent does not sit, an
// executor of another agent, an input that cannot be shown exactly: no request, and
// so nothing runs.
func TestS1_FailsClosed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	elsewhere := d.Room("group", d.owner, d.peer)
	foreign := d.register(d.other, "k", "i", 1, true)
	try := func(what, code string, change func(*flow.AskApproval)) {
		t.Helper()
		in := d.durable("run", "call", "make")
		change(&in)
		_, err := d.s.Ask(t.Context(), d.bot, in)
		wantCode(t, what, err, code)
	}
	try("a room it is not in", "not_found", func(in *flow.AskApproval) { in.ConversationID = elsewhere })
	try("a foreign executor", "executor_not_found", func(in *flow.AskApproval) { in.ExecutorID = foreign })
	try("doubled keys", "invalid", func(in *flow.AskApproval) { in.Input = json.RawMessage(`{"command":"a","command":"b"}`) })
	try("no tool", "invalid", func(in *flow.AskApproval) { in.ToolName = "" })
	try("no run", "invalid", func(in *flow.AskApproval) { in.RunID = "" })
	try("too long a life", "invalid", func(in *flow.AskApproval) { in.TTLSeconds = new(2_592_001) })
	try("too short a life", "invalid", func(in *flow.AskApproval) { in.TTLSeconds = new(59) })
	try("a stock request with a life", "invalid", func(in *flow.AskApproval) { in.Durable, in.TTLSeconds = false, new(600) })
	try("a large note", "invalid", func(in *flow.AskApproval) {
		in.Resume = json.RawMessage(`"` + strings.Repeat("x", approval.MaxResume) + `"`)
	})
	if _, err := d.s.Ask(t.Context(), d.owner, d.durable("r", "c", "x")); !fault.Is(err, "agents_only") {
		t.Errorf("a person asks: %v", err)
	}
	if _, err := d.DB.Exec(t.Context(), `UPDATE participants SET status = 'deactivated' WHERE id = $1::uuid`, d.owner.ID); err != nil {
		t.Fatal(err)
	}
	try("an owner who is away for good", "no_approver", func(*flow.AskApproval) {})
	if n := d.Count(`SELECT count(*) FROM approvals`); n != 0 {
		t.Errorf("%d requests are stored", n)
	}
}

// TestS1_DecisionRace: of many decisions at once one stands, and everybody else is
// told that it was decided.
func TestS1_DecisionRace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask(d.durable("run", "call", "make"))
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[approval.Act]int{}
	for n := range 12 {
		wg.Go(func() {
			v := yes
			switch n % 3 {
			case 1:
				v = no
			case 2:
				v = flow.Verdict{Act: approval.Edit, Input: command(fmt.Sprint("make ", n))}
			}
			_, err := d.s.Resolve(t.Context(), d.owner, a.ID, v)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won[v.Act]++
			} else if !fault.Is(err, "already_decided") {
				t.Errorf("%s: %v", v.Act, err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 || won[approval.Approve]+won[approval.Deny]+won[approval.Edit] != 1 {
		t.Errorf("decided %v", won)
	}
	if n := d.Count(`SELECT count(*) FROM queued_approvals`); n != 1 {
		t.Errorf("the run hears of it %d times", n)
	}
}

// TestS1_TooLateIsTooLate: an expired, a withdrawn and a decided request can never
// be approved, whether or not the sweeper came by first.
func TestS1_TooLateIsTooLate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	late := d.stock("late")
	d.overdue(late)
	if list, err := d.s.Pending(t.Context(), d.owner); err != nil || len(list) != 0 {
		t.Errorf("an overdue request is listed: %v %v", list, err)
	}
	_, err := d.s.Resolve(t.Context(), d.owner, late.ID, yes)
	wantCode(t, "approve overdue", err, "approval_expired")
	if got := d.state(late); got != approval.Expired {
		t.Errorf("overdue is %s", got)
	}
	_, err = d.s.Resolve(t.Context(), d.owner, late.ID, yes)
	wantCode(t, "approve expired", err, "approval_expired")

	polled := d.stock("polled")
	d.overdue(polled)
	if got := d.state(polled); got != approval.Expired || got.Word() != "expired" {
		t.Errorf("polled is %s", got)
	}
	swept := d.stock("swept")
	d.overdue(swept)
	if err := d.s.ExpireDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := d.Count(`SELECT count(*) FROM approvals WHERE status = 'expired'`); n != 3 {
		t.Errorf("%d have expired", n)
	}
	if told := eventsTo[flow.ApprovalResolved](d); len(told) != 3 || told[2].Approval.ID != swept.ID || told[2].Approval.Status != approval.Expired {
		t.Errorf("told %d times", len(told))
	}
	gone := d.stock("gone")
	if out, err := d.s.Cancel(t.Context(), d.bot, gone.ID); err != nil || out.Status != approval.Cancelled {
		t.Fatalf("cancel: %v %v", out.Status, err)
	}
	_, err = d.s.Resolve(t.Context(), d.owner, gone.ID, yes)
	wantCode(t, "approve cancelled", err, "already_decided")
	denied := d.stock("denied")
	d.decide(denied, no)
	_, err = d.s.Resolve(t.Context(), d.owner, denied.ID, yes)
	wantCode(t, "approve denied", err, "already_decided")
	if out, err := d.s.Cancel(t.Context(), d.bot, denied.ID); err != nil || out.Status != approval.Denied {
		t.Errorf("cancel decided: %v %v", out.Status, err)
	}
	if len(d.jobs.expire) != 5 {
		t.Errorf("%d expiries are planned", len(d.jobs.expire))
	}
}

// TestS1_OneGatedCallOfARun: while a run waits, another call of it is told so; the
// same call finds its request again; other runs and agents go on.
func TestS1_OneGatedCallOfARun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.ask(d.durable("run", "call-1", "make"))
	if again := d.ask(d.durable("run", "call-1", "make")); again.ID != first.ID {
		t.Error("the same call has two requests")
	}
	_, err := d.s.Ask(t.Context(), d.bot, d.durable("run", "call-2", "make install"))
	wantCode(t, "a second call", err, "one_gated_call")
	if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Message != first.ID.String() {
		t.Errorf("it does not say which is open: %v", f.Fields)
	}
	if other := d.ask(d.durable("run-2", "call-1", "make install")); other.ID == first.ID {
		t.Error("another run got this run's request")
	}
	changed := d.ask(d.durable("run", "call-1", "make all"))
	if changed.ID == first.ID || d.state(first) != approval.Superseded {
		t.Errorf("a changed call: first is %s", d.state(first))
	}
	_, err = d.s.Resolve(t.Context(), d.owner, first.ID, yes)
	wantCode(t, "approve superseded", err, "already_decided")
	d.decide(changed, yes)
	if again := d.ask(d.durable("run", "call-1", "make all")); again.ID != changed.ID || again.Status != approval.Approved {
		t.Errorf("after the yes: %s", again.Status)
	}
	next := d.ask(d.durable("run", "call-2", "make install"))
	d.overdue(next)
	if anew := d.ask(d.durable("run", "call-2", "make install")); anew.ID == next.ID || d.state(next) != approval.Expired {
		t.Error("an expired request keeps the run from asking again")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	asked := map[id.Approval]bool{}
	for n := range 8 {
		wg.Go(func() {
			a, err := d.s.Ask(t.Context(), d.bot, d.durable("race", fmt.Sprint("call-", n), fmt.Sprint("make ", n)))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				asked[a.ID] = true
			} else if !fault.Is(err, "one_gated_call") {
				t.Errorf("race: %v", err)
			}
		})
	}
	wg.Wait()
	if len(asked) != 1 {
		t.Errorf("%d calls of one run wait", len(asked))
	}
}

// TestS1_StockAsksAgain: a polling bridge that asks for the same again replaces its
// question; an approval is never handed to a second asking.
func TestS1_StockAsksAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.stock("make")
	second := d.stock("make")
	if first.ID == second.ID || d.state(first).Word() != "expired" {
		t.Errorf("first is %s", d.state(first))
	}
	d.decide(second, yes)
	if third := d.stock("make"); third.Status != approval.Pending {
		t.Errorf("a yes to one call is used for another: %s", third.Status)
	}
	if life := time.Until(second.ExpiresAt); life > approval.StockLife || life < approval.StockLife-time.Minute {
		t.Errorf("a stock request lives %s", life)
	}
	_, err := d.s.Resolve(t.Context(), d.owner, d.stock("x").ID, flow.Verdict{Act: approval.Edit, Input: command("y")})
	wantCode(t, "edit for a stock bridge", err, "edits_not_supported")
}

// TestS1_RedeemedOnceAndOnlyForTheSameBytes: one changed byte asks again, an
// approval is good for one run, and only of its own agent's action.
func TestS1_RedeemedOnceAndOnlyForTheSameBytes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	redeem := func(a approval.Approval, tool, cmd, key string) error {
		_, err := d.s.Redeem(t.Context(), d.bot, a.ID, tool, command(cmd), key)
		return err
	}
	a := d.ask(d.durable("run", "call", "rm -rf build"))
	wantCode(t, "before the answer", redeem(a, "Bash", "rm -rf build", "k"), "not_approved")
	d.decide(a, yes)
	wantCode(t, "one byte more", redeem(a, "Bash", "rm -rf build ", "k"), "action_changed")
	wantCode(t, "one byte other", redeem(a, "Bash", "rm -rf builD", "k"), "action_changed")
	wantCode(t, "another tool", redeem(a, "bash", "rm -rf build", "k"), "action_changed")
	wantCode(t, "no key", redeem(a, "Bash", "rm -rf build", ""), "invalid")
	b := d.ask(d.durable("run-b", "call", "rm -rf dist"))
	d.decide(b, yes)
	wantCode(t, "the approval of another action", redeem(b, "Bash", "rm -rf build", "k"), "action_changed")
	if err := redeem(a, "Bash", "rm -rf build", "k"); err != nil {
		t.Fatal(err)
	}
	if err := redeem(a, "Bash", "rm -rf build", "k"); err != nil {
		t.Errorf("the answer was lost, and cannot be had again: %v", err)
	}
	wantCode(t, "a second run", redeem(a, "Bash", "rm -rf build", "k2"), "already_used")

	e := d.ask(d.durable("run-e", "call", "rm -rf /"))
	d.decide(e, flow.Verdict{Act: approval.Edit, Input: command("rm -rf ./tmp"), Text: "only here"})
	wantCode(t, "what was edited away", redeem(e, "Bash", "rm -rf /", "k"), "action_changed")
	if err := redeem(e, "Bash", "rm -rf ./tmp", "k"); err != nil {
		t.Error(err)
	}
	stale := d.ask(d.durable("run-s", "call", "x"))
	d.decide(stale, yes)
	if _, err := d.DB.Exec(t.Context(), `UPDATE approvals SET decided_at = now() - interval '31 days' WHERE id = $1::uuid`, stale.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a month later", redeem(stale, "Bash", "x", "k"), "approval_expired")
	n := d.ask(d.durable("run-n", "call", "x"))
	d.decide(n, no)
	wantCode(t, "denied", redeem(n, "Bash", "x", "k"), "not_approved")
	polled := d.stock("x")
	d.decide(polled, yes)
	wantCode(t, "a polled one", redeem(polled, "Bash", "x", "k"), "not_approved")

	// Of many at once one wins.
	race := d.ask(d.durable("run-r", "call", "make"))
	d.decide(race, yes)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ok := 0
	for k := range 10 {
		wg.Go(func() {
			err := redeem(race, "Bash", "make", fmt.Sprint(k))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ok++
			} else if !fault.Is(err, "already_used") {
				t.Errorf("race: %v", err)
			}
		})
	}
	wg.Wait()
	if ok != 1 {
		t.Errorf("%d ran", ok)
	}
}

// TestS1_RunIsToldOnce: a decision reaches the executor that asked, also one that
// connects later and over a restart of the server, and ends with its ack.
func TestS1_RunIsToldOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	elsewhere := d.join(d.bot, d.register(d.bot, "elsewhere", "i", 4, true))
	a := d.ask(d.durable("run", "call", "make"))
	d.decide(a, flow.Verdict{Act: approval.Approve, Text: "go"})
	d.reopen() // nobody was alive between the question and now
	_ = elsewhere
	s := d.join(d.bot, d.ex)
	got := receive(t, "decision", s.decisions)
	if got.Approval.ID != a.ID || got.Approval.Status != approval.Approved || got.Approval.DecisionText != "go" || *got.Approval.Resume != `{"session":"run", "n": 1}` || got.Row.Generation != 1 {
		t.Errorf("told %+v", got)
	}
	h := flow.HeldApproval{QueueID: got.Row.ID, ExecutorID: d.ex, Generation: got.Row.Generation}
	for what, bad := range map[string]flow.HeldApproval{
		"another executor": {QueueID: h.QueueID, ExecutorID: id.New[id.Executor](), Generation: 1}, "another generation": {QueueID: h.QueueID, ExecutorID: d.ex, Generation: 2},
	} {
		if err := d.s.Ack(t.Context(), d.bot, bad, false); !errors.Is(err, turn.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantCode(t, "another agent", d.s.Ack(t.Context(), d.other, h, false), "queue_item_not_found")
	wantCode(t, "no generation", d.s.Ack(t.Context(), d.bot, flow.HeldApproval{QueueID: h.QueueID, ExecutorID: d.ex}, false), "invalid")
	for range 2 {
		if err := d.s.Ack(t.Context(), d.bot, h, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.s.Ack(t.Context(), d.bot, flow.HeldApproval{QueueID: h.QueueID, ExecutorID: d.ex, Generation: 7}, false); !errors.Is(err, turn.ErrLost) {
		t.Errorf("a late ack of another claim: %v", err)
	}
	if n := d.Count(`SELECT count(*) FROM queued_approvals`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := d.Count(`SELECT count(*) FROM approvals WHERE told_outcome = 'resumed'`); n != 1 {
		t.Errorf("%d are told", n)
	}
	d.g.ClaimNow(t.Context(), d.bot.ID)
	if len(s.decisions) != 0 {
		t.Error("it is told again")
	}
}

// reopen is a restart of the server: memory is gone, rows stay.
func (d *desk) reopen() { d.open() }

// TestS1_UnheardDecisionsComeAgain: a socket that ends before the bridge took
// notice costs nothing; a bridge that dies on it costs an attempt, and after the
// last people are told.
func TestS1_UnheardDecisionsComeAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	a := d.ask(d.durable("run", "call", "make"))
	d.decide(a, no)
	s := d.join(d.bot, d.ex)
	first := receive(t, "decision", s.decisions)
	s.leave()
	s = d.join(d.bot, d.ex)
	again := receive(t, "decision", s.decisions)
	if again.Row.Attempt != 1 || again.Row.Generation <= first.Row.Generation {
		t.Errorf("attempt %d, generation %d", again.Row.Attempt, again.Row.Generation)
	}
	if err := d.s.Ack(t.Context(), d.bot, flow.HeldApproval{QueueID: first.Row.ID, ExecutorID: d.ex, Generation: first.Row.Generation}, false); !errors.Is(err, turn.ErrLost) {
		t.Errorf("the first claim still counts: %v", err)
	}
	for n := again; ; {
		out, err := d.g.Heartbeat(t.Context(), d.bot, d.ex, flow.Beat{Claims: []flow.NamedTurn{{QueueID: n.Row.ID.String(), Generation: n.Row.Generation}, {QueueID: n.Row.ID.String(), Generation: 99}}})
		if err != nil || len(out.Lost) != 1 {
			t.Fatalf("heartbeat: %+v %v", out, err)
		}
		d.g.TellNow(t.Context(), d.bot.ID)
		if p := d.g.Presence(d.bot.ID); len(p.Rooms) != 1 || p.Rooms[0] != d.room {
			t.Errorf("a resumed run works in %v", p.Rooms)
		}
		if n.Row.Attempt == 5 {
			break
		}
		if _, err := d.DB.Exec(t.Context(), `UPDATE queued_approvals SET lease_until = now() - interval '1 second'`); err != nil {
			t.Fatal(err)
		}
		n = receive(t, "decision", s.decisions)
	}
	if _, err := d.DB.Exec(t.Context(), `UPDATE queued_approvals SET lease_until = now() - interval '1 second'`); err != nil {
		t.Fatal(err)
	}
	receive(t, "answer", d.jobs.added)
	if n := d.Count(`SELECT count(*) FROM approvals WHERE told_outcome = 'failed'`); n != 1 {
		t.Fatalf("%d are given up", n)
	}
	d.say()
	if n := d.Count(`SELECT count(*) FROM messages WHERE metadata->>'code' = 'approval_not_resumed' AND conversation_id = $1::uuid`, d.room); n == 0 {
		t.Error("people are not told")
	}
}

// TestS1_ExpiryWakesTheRun: a durable run hears that nobody answered, and edits
// come with the new input.
func TestS1_ExpiryWakesTheRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.join(d.bot, d.ex)
	a := d.ask(d.durable("run", "call", "make"))
	d.overdue(a)
	if err := d.s.ExpireDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, "expiry", s.decisions); got.Approval.Status != approval.Expired {
		t.Errorf("told %s", got.Approval.Status)
	}
	b := d.ask(d.durable("run-b", "call", "make"))
	d.decide(b, flow.Verdict{Act: approval.Edit, Input: command("make -n")})
	got := receive(t, "edit", s.decisions)
	if got.Approval.Status != approval.Edited || !bytes.Equal(got.Approval.InputOf(), command("make -n")) || got.Approval.Hash() == got.Approval.ActionHash {
		t.Errorf("told %+v", got.Approval)
	}
	// Two are in flight, so both slots are taken.
	c := d.ask(d.durable("run-c", "call", "make"))
	d.decide(c, yes)
	d.g.ClaimNow(t.Context(), d.bot.ID)
	if len(s.decisions) != 0 {
		t.Error("more is told than slots are free")
	}
	if err := d.s.Release(t.Context(), d.bot, flow.HeldApproval{QueueID: got.Row.ID, ExecutorID: d.ex, Generation: got.Row.Generation}); err != nil {
		t.Fatal(err)
	}
	receive(t, "decision", s.decisions)
}

// TestS1_StopEndsWhatIsAsked: a stop in the room, and leaving it, withdraw what is
// asked there and what a run there would hear.
func TestS1_StopEndsWhatIsAsked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.join(d.bot, d.ex)
	running := d.ask(d.durable("run-a", "call", "make"))
	d.decide(running, yes)
	receive(t, "decision", s.decisions)
	open := d.ask(d.durable("run-b", "call", "make"))
	if _, _, err := d.g.StopAgents(t.Context(), d.peer, d.room, d.bot.ID, nil); err != nil {
		t.Fatal(err)
	}
	if got := d.state(open); got != approval.Cancelled {
		t.Errorf("after the stop it is %s", got)
	}
	if n := d.Count(`SELECT count(*) FROM queued_approvals`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if c := receive(t, "command", s.commands); c.Type != "stop_generation" || c.ConversationID != d.room {
		t.Errorf("command %+v", c)
	}
	left := d.ask(d.durable("run-c", "call", "make"))
	if err := d.Chat.RemoveMember(t.Context(), d.owner, d.room, d.bot.ID); err != nil {
		t.Fatal(err)
	}
	if got := d.state(left); got != approval.Cancelled {
		t.Errorf("after leaving it is %s", got)
	}
}
