package post_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Every call that our client makes has the arguments, and their types, of a call that the real client made (golden exchanges),
// and every answer that the real relay gave is one that our client reads.
func TestL2_CallsAreThoseOfTheGoldenExchanges(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../wire/letter/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var exchanges []struct {
		Line     string
		Request  *letter.Request
		Response json.RawMessage
	}
	if err := json.Unmarshal(b, &exchanges); err != nil {
		t.Fatal(err)
	}
	golden := map[string]bool{}
	answers := map[string]func() any{
		letter.ToolPublishKeys: func() any { return &letter.Published{} }, letter.ToolCountKeys: func() any { return &letter.KeyCount{} }, letter.ToolGetKeys: func() any { return &letter.Keys{} },
		letter.ToolClaimKey: func() any { return &letter.ClaimedKey{} }, letter.ToolSendMessage: func() any { return &letter.SendResult{} }, letter.ToolReadMessages: func() any { return &[]letter.Message{} },
		letter.ToolNack: func() any { return &letter.OK{} },
	}
	for _, x := range exchanges {
		if x.Request == nil {
			continue
		}
		delete(x.Request.Args, "auth")
		golden[shape(x.Request.Tool, x.Request.Args)] = true
		if err := json.Unmarshal(x.Response, answers[x.Request.Tool]()); err != nil {
			t.Errorf("%s: %s: %v", x.Request.Tool, x.Response, err)
		}
	}
	r := retalktest.New(t)
	alice, _ := box(t, r.URL)
	bob, bobs := box(t, r.URL)
	ok[post.Summary](t)(bob.Sync(t.Context(), post.ResendAll))
	ok[post.Summary](t)(alice.Sync(t.Context(), post.ResendAll))
	ok[post.Receipt](t)(alice.Send(t.Context(), bob.Me().Address, "hello", false))
	take := func(post.Letter) error { return nil }
	ok[post.Received](t)(bob.Receive(t.Context(), post.ReceiveOptions{Peers: []string{alice.Me().Address}}, take))
	ok[post.Received](t)(bob.Receive(t.Context(), post.ReceiveOptions{All: true}, take))
	ok[post.Received](t)(bob.Requests(t.Context(), take))
	if err := bobs.Tx(t.Context(), func(tx *store.Tx) error { return tx.Block(alice.Me().Address) }); err != nil {
		t.Fatal(err)
	}
	ok[post.Receipt](t)(alice.Send(t.Context(), bob.Me().Address, "refuse me", false))
	ok[post.Received](t)(bob.Receive(t.Context(), post.ReceiveOptions{Peers: []string{alice.Me().Address}}, take))
	seen := map[string]bool{}
	for _, c := range r.Calls("") {
		// What the server read has numbers as json.Number: once through JSON, as the golden ones came.
		b, err := json.Marshal(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		var args map[string]any
		if err := json.Unmarshal(b, &args); err != nil {
			t.Fatal(err)
		}
		s := shape(c.Tool, args)
		if seen[c.Tool] = true; !golden[s] && s != letter.ToolReadMessages+" {}" { // --all is in the contract, not among the exchanges
			t.Errorf("no real client made the call %s", s)
		}
	}
	if len(seen) != len(answers) {
		t.Errorf("only %v were called", slices.Sorted(maps.Keys(seen)))
	}
}

// shape is a call with types for values.
func shape(tool string, args map[string]any) string {
	types := map[string]string{}
	for name, v := range args {
		types[name] = fmt.Sprintf("%T", v)
		if v == true {
			types[name] = "true"
		}
	}
	b, _ := json.Marshal(types)
	return tool + " " + string(b)
}
