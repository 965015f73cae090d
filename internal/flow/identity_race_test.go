package flow_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
)

// together runs all at the same moment.
func together(all ...func()) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for _, f := range all {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			f()
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// TestW3_NothingIsRememberedFromBeforeItsEnd: a request that looks a sign-in or a key up
// while it is being revoked must not keep it alive for those that come later.
func TestW3_NothingIsRememberedFromBeforeItsEnd(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	person, aid, key := agentOf(t, i)
	for n := range 60 {
		s, err := i.SignIn(ctx, "ada@example.com", "Correct-Horse-7", "", "192.0.2.2")
		if err != nil {
			t.Fatal(err)
		}
		list, err := i.Sessions(ctx, person)
		if err != nil {
			t.Fatal(err)
		}
		use := func() { _, _ = i.Authenticate(ctx, s.Token) }
		together(use, use, use, func() {
			for _, one := range list {
				if one.ID != person.SessionID {
					if err := i.RevokeSession(ctx, person, one.ID); err != nil {
						t.Error(err)
					}
				}
			}
		})
		if _, err := i.Authenticate(ctx, s.Token); fault.KindOf(err) != fault.Unauthenticated {
			t.Fatalf("round %d: a revoked sign-in lives on: %v", n, err)
		}

		next := ""
		exchange := func() { _, _ = i.ExchangeAgentKey(ctx, aid.String(), key, "192.0.2.3") }
		together(exchange, exchange, exchange, func() {
			var err error
			if _, next, err = i.RegenerateKey(ctx, person, aid); err != nil {
				t.Error(err)
			}
		})
		if _, err := i.ExchangeAgentKey(ctx, aid.String(), key, fmt.Sprint("192.0.3.", n)); err == nil {
			t.Fatalf("round %d: the old key opens the door", n)
		}
		if _, err := i.ExchangeAgentKey(ctx, aid.String(), next, "192.0.2.3"); err != nil {
			t.Fatalf("round %d: the new key does not: %v", n, err)
		}
		key = next
		if _, err := i.EditAgent(ctx, person, aid, false, flow.AgentPatch{}); err != nil { // nothing is cached in the next round
			t.Fatal(err)
		}
	}
}

// TestW3_NoSignInWithThePasswordThatWasJustChanged: who is being checked while the
// password changes does not get in by the old one.
func TestW3_NoSignInWithThePasswordThatWasJustChanged(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	one, err := i.SignUp(ctx, ada())
	if err != nil {
		t.Fatal(err)
	}
	me, err := i.Authenticate(ctx, one.Token)
	if err != nil {
		t.Fatal(err)
	}
	old := "Correct-Horse-7"
	for n := range 40 {
		next := fmt.Sprintf("Another-Horse-%d", n)
		code, err := i.MakeOneTimeCode(ctx, me.ID, flow.AgentTokenLife)
		if err != nil {
			t.Fatal(err)
		}
		thief := func() { _, _ = i.SignIn(ctx, "ada@example.com", old, "", fmt.Sprint("192.0.5.", n)) }
		together(thief, thief, func() {
			if err := i.ChangePassword(ctx, me, old, next); err != nil {
				t.Error(err)
			}
		})
		if list, err := i.Sessions(ctx, me); err != nil || len(list) != 1 {
			t.Fatalf("round %d: %d sign-ins outlive the password: %v", n, len(list)-1, err)
		}
		if _, err := i.SpendOneTimeCode(ctx, code, "", fmt.Sprint("192.0.4.", n)); !fault.Is(err, "code_invalid") {
			t.Fatalf("round %d: a link from before still signs in: %v", n, err)
		}
		old = next
	}
}

// TestW3_GuessesAtOnceAreCountedAsTheyCome: the limit holds for a hundred guesses at the
// same moment as for a hundred in a row, and nobody is locked out by being right.
func TestW3_GuessesAtOnceAreCountedAsTheyCome(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	if _, err := i.SignUp(ctx, ada()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	answers := map[string]int{}
	guesses := make([]func(), 100)
	for n := range guesses {
		guesses[n] = func() {
			_, err := i.SignIn(ctx, "ada@example.com", fmt.Sprint("Guess-", n), "", "192.0.2.2")
			mu.Lock()
			defer mu.Unlock()
			answers[fault.From(err).Code]++
		}
	}
	together(guesses...)
	if n := answers["invalid_credentials"]; n < 1 || n > 22 || n+answers["rate_limited"] != len(guesses) {
		t.Errorf("of 100 guesses at once: %v", answers)
	}
	j, _ := newIdentity(t)
	if _, err := j.SignUp(ctx, ada()); err != nil {
		t.Fatal(err)
	}
	right := make([]func(), 100)
	for n := range right {
		right[n] = func() {
			if _, err := j.SignIn(ctx, "ada@example.com", "Correct-Horse-7", "", "192.0.2.2"); err != nil {
				t.Errorf("the right password is limited: %v", err)
			}
		}
	}
	together(right...)
}

// TestW1_OneFirstAccount: of people who sign up at the same moment on a new server one is
// its administrator, and a closed server takes one.
func TestW1_OneFirstAccount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, mode := range []flow.SignupMode{flow.SignupOpen, flow.SignupClosed} {
		i, _ := newIdentity(t)
		i.Signup = mode
		var mu sync.Mutex
		admins, accounts := 0, 0
		people := make([]func(), 6)
		for n := range people {
			people[n] = func() {
				in := ada()
				in.Email, in.Address = fmt.Sprintf("ada%d@example.com", n), fmt.Sprint("192.0.2.", n)
				s, err := i.SignUp(ctx, in)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accounts++
					if s.Self.Account.PlatformAdmin {
						admins++
					}
				case !fault.Is(err, "signup_closed"):
					t.Error(err)
				}
			}
		}
		together(people...)
		if want := map[flow.SignupMode]int{flow.SignupOpen: len(people), flow.SignupClosed: 1}[mode]; admins != 1 || accounts != want {
			t.Errorf("%s: %d administrators, %d accounts", mode, admins, accounts)
		}
	}
}

// TestW3_WhatIsDeletedStaysDeleted: a change that comes at the same moment brings neither
// an agent back nor leaves one without an owner.
func TestW3_WhatIsDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	for n := range 25 {
		in := ada()
		in.Email, in.Address = fmt.Sprintf("ada%d@example.com", n), fmt.Sprint("192.0.2.", n)
		s, err := i.SignUp(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		me, err := i.Authenticate(ctx, s.Token)
		if err != nil {
			t.Fatal(err)
		}
		a, _, err := i.CreateAgent(ctx, me, flow.NewAgent{DisplayName: "Nova"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := i.EditAgent(ctx, me, a.ID, false, flow.AgentPatch{Status: new("deactivated")}); err != nil {
			t.Fatal(err)
		}
		together(func() { _, _ = i.EditAgent(ctx, me, a.ID, false, flow.AgentPatch{Status: new("active")}) }, func() {
			if err := i.DeleteAgent(ctx, me, a.ID); err != nil {
				t.Error(err)
			}
		})
		if _, _, err := i.Agent(ctx, me, a.ID); fault.KindOf(err) != fault.NotFound {
			t.Fatalf("round %d: a deleted agent is back: %v", n, err)
		}
		key := ""
		var late access.Actor
		more := func() {
			if a, k, err := i.CreateAgent(ctx, me, flow.NewAgent{DisplayName: "Late"}); err == nil {
				key, late = k, access.Actor{Kind: access.Agent, ID: a.ID}
			}
		}
		together(more, func() {
			if err := i.DeleteAccount(ctx, me, "DELETE"); err != nil {
				t.Error(err)
			}
		})
		if _, err := i.ExchangeAgentKey(ctx, late.ID.String(), key, fmt.Sprint("192.0.6.", n)); err == nil {
			t.Fatalf("round %d: an agent outlives its owner's account", n)
		}
	}
}
