package flow_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
)

// two makes the rule that the owner and Pia have to allow what is of at least a risk.
func (d *desk) two(least approval.Risk) {
	d.t.Helper()
	_, err := d.s.SetRule(d.t.Context(), d.owner, approval.Place{AgentID: d.bot.ID}, approval.Rule{LeastRisk: least, Deciders: []id.Participant{d.peer.ID}})
	if err != nil {
		d.t.Fatalf("set rule: %v", err)
	}
}

func (d *desk) resolve(who access.Actor, a approval.Approval, v flow.Verdict) (approval.State, error) {
	d.t.Helper()
	out, err := d.s.Resolve(d.t.Context(), who, a.ID, v)
	return out.Status, err
}

func (d *desk) waits(who access.Actor) int {
	d.t.Helper()
	list, err := d.s.Decisions(d.t.Context(), who)
	if err != nil {
		d.t.Fatal(err)
	}
	return len(list)
}

// TestS1_TwoPeopleHaveToAllow: from a risk on two different people decide; the same
// person twice is one, and what one allowed for good does not count.
func TestS1_TwoPeopleHaveToAllow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.join(d.bot, d.ex)
	standing := d.ask(d.durable("run-0", "call", "make"))
	d.decide(standing, flow.Verdict{Act: approval.Approve, Scope: approval.ThisExact})
	receive(t, "decision", s.decisions)
	d.two(approval.Low)

	a := d.ask(d.durable("run", "call", "make"))
	if a.Status != approval.Pending || a.DecidersNeeded != 2 || !slices.Contains(a.Approvers, d.peer.ID) || !slices.Contains(a.Approvers, d.owner.ID) {
		t.Fatalf("asked: %+v", a)
	}
	if d.waits(d.owner) != 1 || d.waits(d.peer) != 1 {
		t.Errorf("it waits for %d and %d", d.waits(d.owner), d.waits(d.peer))
	}
	if got, err := d.resolve(d.owner, a, yes); err != nil || got != approval.Pending {
		t.Fatalf("the first yes: %s, %v", got, err)
	}
	if d.waits(d.owner) != 0 || d.waits(d.peer) != 1 {
		t.Errorf("after the first yes it waits for %d and %d", d.waits(d.owner), d.waits(d.peer))
	}
	if _, err := d.resolve(d.owner, a, yes); !fault.Is(err, approval.ErrSecond.Code) {
		t.Errorf("the same person again: %v", err)
	}
	if len(s.decisions) != 0 || d.state(a) != approval.Pending {
		t.Fatal("one person was enough")
	}
	if _, err := d.resolve(d.peer, a, flow.Verdict{Act: approval.Approve, Scope: approval.ThisExact}); err == nil {
		t.Error("one of two allowed it for good")
	}
	if got, err := d.resolve(d.peer, a, yes); err != nil || got != approval.Approved {
		t.Fatalf("the second yes: %s, %v", got, err)
	}
	if got := receive(t, "decision", s.decisions); got.Approval.Status != approval.Approved {
		t.Errorf("told %s", got.Approval.Status)
	}
	// One no is enough.
	b := d.ask(d.durable("run-b", "call", "make all"))
	if got, err := d.resolve(d.peer, b, flow.Verdict{Act: approval.Deny}); err != nil || got != approval.Denied {
		t.Errorf("a no: %s, %v", got, err)
	}
}

// TestS1_AChangeBeginsTheCountAnew: what the second person changes, the first has not
// allowed; and a yes to what is not shown any more does not count.
func TestS1_AChangeBeginsTheCountAnew(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.join(d.bot, d.ex)
	d.two(approval.Low)
	a := d.ask(d.durable("run", "call", "make install"))
	if _, err := d.resolve(d.owner, a, yes); err != nil {
		t.Fatal(err)
	}
	out, err := d.s.Resolve(t.Context(), d.peer, a.ID, flow.Verdict{Act: approval.Edit, Input: command("make")})
	if err != nil || out.Status != approval.Pending || out.Current() == out.ActionHash || len(out.AllowedBy) != 1 || out.AllowedBy[0] != d.peer.ID {
		t.Fatalf("changed: %+v, %v", out.AllowedBy, err)
	}
	if d.waits(d.owner) != 1 {
		t.Error("the first person is not asked again")
	}
	for _, seen := range []string{"", out.ActionHash} {
		if _, err := d.resolve(d.owner, a, flow.Verdict{Act: approval.Approve, Hash: seen}); !fault.Is(err, approval.ErrChanged.Code) {
			t.Errorf("a yes to what was shown before (%q): %v", seen, err)
		}
	}
	if got, err := d.resolve(d.owner, a, flow.Verdict{Act: approval.Approve, Hash: out.Current()}); err != nil || got != approval.Edited {
		t.Fatalf("the second yes: %s, %v", got, err)
	}
	got := receive(t, "decision", s.decisions)
	if got.Approval.Hash() != out.Current() || string(got.Approval.InputOf()) != string(command("make")) {
		t.Errorf("told %+v", got.Approval)
	}
}

// TestS1_TwoPeopleFailClosed: time that ends between the two, nobody beside the owner,
// and a risk below the rule.
func TestS1_TwoPeopleFailClosed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.two(approval.Low)
	a := d.ask(d.durable("run", "call", "make"))
	if _, err := d.resolve(d.owner, a, yes); err != nil {
		t.Fatal(err)
	}
	d.overdue(a)
	if _, err := d.resolve(d.peer, a, yes); !fault.Is(err, approval.ErrExpired.Code) || d.state(a) != approval.Expired {
		t.Errorf("the second yes came too late: %v, %s", err, d.state(a))
	}
	if _, err := d.DB.Exec(t.Context(), `UPDATE participants SET status = 'deleted' WHERE id = $1`, d.peer.ID); err != nil {
		t.Fatal(err)
	}
	in := d.durable("run-b", "call", "make")
	if _, err := d.s.Ask(t.Context(), d.bot, in); !fault.Is(err, approval.ErrNoSecond.Code) {
		t.Errorf("asked without a second person: %v", err)
	}
	d.two2(approval.Critical)
	if b := d.ask(d.durable("run-c", "call", "make")); b.DecidersNeeded != 1 {
		t.Errorf("below the rule %d people decide", b.DecidersNeeded)
	}
	// A workspace's rule binds every agent there, and its owner cannot be outvoted by an agent's.
	third := d.Person("Tove")
	w := approval.Place{OrganizationID: d.owner.OrganizationID}
	if _, err := d.s.SetRule(t.Context(), third, w, approval.Rule{LeastRisk: approval.Low, Deciders: []id.Participant{third.ID}}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger makes the rule of a workspace: %v", err)
	}
	if _, err := d.s.SetRule(t.Context(), d.bot, approval.Place{AgentID: d.bot.ID}, approval.Rule{LeastRisk: approval.Low, Deciders: []id.Participant{third.ID}}); err == nil {
		t.Error("an agent makes its own rule")
	}
}

// two2 is two with a third person, for when Pia is gone.
func (d *desk) two2(least approval.Risk) {
	d.t.Helper()
	other := d.Person("Uma")
	if _, err := d.s.SetRule(d.t.Context(), d.owner, approval.Place{AgentID: d.bot.ID}, approval.Rule{LeastRisk: least, Deciders: []id.Participant{other.ID}}); err != nil {
		d.t.Fatal(err)
	}
}

// TestS1_TwoDecidersAtOnce: two yeses at the same moment run it once; a yes and a change
// at the same moment run nothing, for they are not about the same call.
func TestS1_TwoDecidersAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.two(approval.Low)
	at := func(a approval.Approval, verdicts map[id.Participant]flow.Verdict) {
		var wg sync.WaitGroup
		for _, who := range []access.Actor{d.owner, d.peer} {
			for range 3 { // a button that is pressed several times
				wg.Go(func() {
					_, err := d.s.Resolve(t.Context(), who, a.ID, verdicts[who.ID])
					if k := fault.KindOf(err); err != nil && k != fault.Conflict {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
	}
	for n := range 5 {
		both := d.ask(d.durable(fmt.Sprint("both-", n), "call", "make"))
		at(both, map[id.Participant]flow.Verdict{d.owner.ID: yes, d.peer.ID: yes})
		if got := d.state(both); got != approval.Approved {
			t.Fatalf("two yeses: %s", got)
		}
		mixed := d.ask(d.durable(fmt.Sprint("mixed-", n), "call", "make"))
		at(mixed, map[id.Participant]flow.Verdict{d.owner.ID: yes, d.peer.ID: {Act: approval.Edit, Input: command("make all")}})
		if got := d.state(mixed); got != approval.Pending {
			t.Fatalf("a yes and a change: %s", got)
		}
	}
	if n := d.Count(`SELECT count(*) FROM queued_approvals`); n != 5 {
		t.Errorf("%d runs are told", n)
	}
}
