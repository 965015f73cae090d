package mcpserve_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest/toolbox"
	"github.com/agntchat/agntchat/internal/bridge/mcpserve"
)

func TestB2_ToolsOverMCP(t *testing.T) {
	t.Parallel()
	s, err := mcpserve.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	post := func(token, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("room"), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		raw, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(raw)
	}
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"look","arguments":{"at":"x"}}}`
	if code, _ := post("wrong", call); code != http.StatusUnauthorized {
		t.Fatalf("a wrong token got %d", code)
	}
	if _, body := post(s.Token(), call); !strings.Contains(body, `"isError":true`) {
		t.Fatalf("a call without a turn: %s", body)
	}
	box := &toolbox.Box{}
	unbind := s.Bind("room", box)
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`: `"2025-11-25"`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`:                                         `"name":"end_turn"`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`:                                                 `"result":{}`,
		`{"jsonrpc":"2.0","id":3,"method":"other"}`:                                                `-32601`,
		`not json`: `-32700`,
		call:       `seen`,
	} {
		if _, got := post(s.Token(), body); !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	if code, _ := post(s.Token(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`); code != http.StatusAccepted {
		t.Errorf("a notification got %d", code)
	}
	if got := box.Calls(); len(got) != 1 {
		t.Errorf("calls %v", got)
	}
	unbind()
	if _, body := post(s.Token(), call); !strings.Contains(body, "No turn is running") {
		t.Errorf("a call after the turn: %s", body)
	}
}
