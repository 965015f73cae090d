package relay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
)

// TestL1_AnswersAsAnotherRelayDoes plays random calls (printed seed) of several
// clients to this relay and to one that was written from the contract alone, in
// memory, and compares every answer. Ids and times of letters are each relay's own.
func TestL1_AnswersAsAnotherRelayDoes(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	p, other := open(t), retalktest.New(t)
	relays := []*relaytest.Relay{p.Relay, {URL: other.URL, HTTP: p.HTTP}}
	users := make([]*relaytest.User, 5)
	for n := range users {
		users[n] = relaytest.NewUser()
		p.set(time.Now())
		if n > 0 { // the first one is unknown until it publishes
			same(t, -1, relays, users[n], "publish_keys", users[n].Publication(2))
		}
	}
	var bodies []string
	for n := range 800 {
		p.set(time.Now())
		u, peer := users[rng.IntN(len(users))], users[rng.IntN(len(users))]
		tool, args := "", map[string]any{}
		switch rng.IntN(12) {
		case 0:
			tool, args = "publish_keys", u.Publication(rng.IntN(4))
			if rng.IntN(2) == 0 {
				args["fallback_key"] = nil
			}
		case 1:
			tool = "count_keys"
		case 2:
			tool, args = "get_keys", map[string]any{"peer": peer.Address}
		case 3, 4:
			tool, args = "claim_key", map[string]any{"peer": peer.Address}
		case 5, 6, 7:
			bodies = append(bodies, fmt.Sprintf("letter %d ü😀", n))
			tool, args = "send_message", map[string]any{"to": peer.Address, "mtype": rng.IntN(3), "body": bodies[len(bodies)-1]}
		case 8, 9:
			tool = "read_messages"
			if rng.IntN(2) == 0 {
				args["peer"] = peer.Address
			}
			if rng.IntN(2) == 0 {
				args["peek"] = true
			}
		case 10:
			// Refuse something, and let its sender try it again: only what does not wait, for
			// of what waits this relay keeps one copy and the other two.
			body := fmt.Sprintf("refused %d", n)
			u = users[1+rng.IntN(len(users)-1)]
			same(t, n, relays, u, "nack", u.Nack(body))
			tool, args, u = "send_message", map[string]any{"to": u.Address, "mtype": 1, "body": body}, peer
		case 11:
			tool, args = "get_keys", map[string]any{"peer": peer.Address, "zzz": 1}
			if rng.IntN(2) == 0 {
				args = map[string]any{}
			}
		}
		same(t, n, relays, u, tool, args)
	}
}

// same makes one call to both relays and compares the answers.
func same(t *testing.T, n int, relays []*relaytest.Relay, u *relaytest.User, tool string, args map[string]any) {
	t.Helper()
	var got [2]any
	for i, r := range relays {
		var out json.RawMessage
		err := r.Call(t.Context(), u, tool, args, &out)
		var no *relaytest.Refusal
		switch {
		case errors.As(err, &no):
			got[i] = no.Error()
		case err != nil:
			t.Fatal(err)
		default:
			if err := json.Unmarshal(out, &got[i]); err != nil {
				t.Fatal(err)
			}
			got[i] = withoutOwn(got[i])
		}
	}
	if !reflect.DeepEqual(got[0], got[1]) {
		t.Fatalf("call %d, %s %v:\n ours  %v\n other %v", n, tool, args, got[0], got[1])
	}
}

func withoutOwn(v any) any {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			withoutOwn(e)
		}
	case map[string]any:
		delete(v, "message_id")
		delete(v, "ts")
	}
	return v
}
