package mcpserve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/mcpserve"
)

// Requests on standard input are answered one a line; what is no request ends nothing; a cancelled call ends and is not answered.
func TestL5_ToolsOverStandardInputAndOutput(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	out, write := io.Pipe()
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	call := func(ctx context.Context, name string, args json.RawMessage) backend.ToolResult {
		if name == "slow" {
			started <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
		}
		return backend.ToolResult{Text: name + string(args), IsError: name == "bad"}
	}
	var metas []string
	info := mcpserve.Info{
		Name: "letters", Version: "1.2.3", Instructions: "how", Hints: map[string]mcpserve.Hints{"look": {ReadOnly: true}},
		Meta: func(m json.RawMessage) { metas = append(metas, string(m)) },
	}
	done := make(chan error, 1)
	go func() {
		done <- mcpserve.Stdio(t.Context(), in, write, info, []backend.Tool{{Name: "look", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}}, call)
		_ = write.Close()
	}()
	lines := bufio.NewScanner(out)
	ask := func(request, want string) {
		t.Helper()
		if _, err := io.WriteString(feed, request+"\n"); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			return
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("%s: %s", request, lines.Text())
		}
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, `"instructions":"how","protocolVersion":"2025-11-25","serverInfo":{"name":"letters","version":"1.2.3"}`)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	ask(`nonsense`, `"code":-32700`)
	ask(`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, `"annotations":{"readOnlyHint":true,"destructiveHint":false`)
	ask(`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`, `"code":-32601`)
	ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"look","arguments":{"a":1},"_meta":{"m":1}}}`, `"text":"look{\"a\":1}"`)
	ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"bad"}}`, `"isError":true`)
	ask(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}`, "")
	<-started
	ask(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, "")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ask(`{"jsonrpc":"2.0","id":6,"method":"ping"}`, `"id":6`)
	_ = feed.Close()
	if err := <-done; err != nil || lines.Scan() {
		t.Fatalf("%v %s", err, lines.Text())
	}
	if len(metas) != 3 || metas[0] != `{"m":1}` {
		t.Fatalf("%q", metas)
	}
}

// Notices become messages of the client's log once it is ready for them, unless it wants graver ones only. A server without notices has no log.
func TestL5_NoticesOverStandardOutput(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	out, write := io.Pipe()
	notices := make(chan string)
	done := make(chan error, 1)
	go func() {
		done <- mcpserve.Stdio(t.Context(), in, write, mcpserve.Info{Name: "letters", Notices: notices}, nil, nil)
		_ = write.Close()
	}()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("%s, want %s", lines.Text(), want)
		}
	}
	say := func(request string) {
		t.Helper()
		if _, err := io.WriteString(feed, request+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
	next(`"capabilities":{"logging":{},"tools":{}}`)
	for range 2 { // a client that says it twice hears each notice once
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	notices <- "one"
	next(`"method":"notifications/message","params":{"data":"one","level":"info","logger":"letters"}`)
	say(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`)
	next(`"id":1,"jsonrpc":"2.0","result":{}`)
	notices <- "two"
	notices <- "three"
	say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	next(`"id":2`)
	_ = feed.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
