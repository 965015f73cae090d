package bridge_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

func TestB1_ConnectStoresOnlyWhatTheServerAccepted(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	home := t.TempDir()
	var out bytes.Buffer
	conf := bridge.Config{Home: home, Version: "1"}
	bad := bridge.Credentials{URL: s.URL, AgentID: s.AgentID, APIKey: "ak_wrong", Backend: "scripted"}
	if err := bridge.Connect(t.Context(), home, bad, "", conf, &out); !errors.Is(err, session.ErrKeyRefused) {
		t.Fatalf("error %v", err)
	}
	if all, err := bridge.LoadAll(home); err != nil || len(all) != 0 {
		t.Fatalf("stored %v, error %v", all, err)
	}
	good := bad
	good.APIKey = s.Key
	good.URL += "/api/gateway/"
	if err := bridge.Connect(t.Context(), home, good, "", conf, &out); err != nil {
		t.Fatal(err, out.String())
	}
	c, err := bridge.Load(home, s.AgentID)
	if err != nil || c.URL != s.URL || c.APIKey != s.Key || c.DisplayName != "Nova" {
		t.Fatalf("stored %+v, error %v", c, err)
	}
	name := filepath.Join(bridge.AgentDir(home, s.AgentID), "credentials.json")
	if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, error %v", st.Mode(), err)
	}
	if st, err := os.Stat(filepath.Dir(name)); err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("folder mode %v, error %v", st.Mode(), err)
	}
	if strings.Contains(out.String(), s.Key) {
		t.Fatal("the key was printed")
	}
}

func TestB1_ConnectByInvite(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	home := t.TempDir()
	var out bytes.Buffer
	conf := bridge.Config{Home: home, Version: "1"}
	if err := bridge.Connect(t.Context(), home, bridge.Credentials{URL: s.URL, Backend: "scripted"}, "inv_good", conf, &out); err != nil {
		t.Fatal(err, out.String())
	}
	if c, err := bridge.Load(home, s.AgentID); err != nil || c.APIKey != s.Key || c.URL != s.URL {
		t.Fatalf("stored %+v, error %v", c, err)
	}
	err := bridge.Connect(t.Context(), home, bridge.Credentials{URL: s.URL}, "inv_bad", conf, &out)
	if err == nil || !strings.Contains(err.Error(), "does not know this invite") {
		t.Fatalf("error %v", err)
	}
}

func TestB1_ParseConnect(t *testing.T) {
	t.Parallel()
	cases := map[string]bridge.Credentials{
		"agnt://a1:ak_k@chat.example.org":                                      {URL: "https://chat.example.org", AgentID: "a1", APIKey: "ak_k"},
		"agnt://a1:ak_k@127.0.0.1:4000":                                        {URL: "http://127.0.0.1:4000", AgentID: "a1", APIKey: "ak_k"},
		"agnt://a1:ak_k@box:4000/chat?tls=0":                                   {URL: "http://box:4000/chat", AgentID: "a1", APIKey: "ak_k"},
		`{"url":"http://x","agent_id":"a1","api_key":"ak_k"}`:                  {URL: "http://x", AgentID: "a1", APIKey: "ak_k"},
		`{"gatewayUrl":"http://x/api/gateway","agentId":"a1","apiKey":"ak_k"}`: {URL: "http://x/api/gateway", AgentID: "a1", APIKey: "ak_k"},
	}
	for in, want := range cases {
		if got, ok, err := bridge.ParseConnect(in); err != nil || !ok || got != want {
			t.Errorf("%s: %+v %v %v", in, got, ok, err)
		}
	}
	if _, ok, err := bridge.ParseConnect("ak_plain_key"); ok || err != nil {
		t.Errorf("a key was taken for a connect string: %v", err)
	}
	for _, in := range []string{"agnt://nokey@host", "agnt://", `{"url":"http://x"}`, `{broken`, "agnt://a:ak_secret@%zz"} {
		if _, ok, err := bridge.ParseConnect(in); ok || err == nil || strings.Contains(err.Error(), "ak_secret") {
			t.Errorf("%s: %v %v", in, ok, err)
		}
	}
}

func TestB1_ParseConfig(t *testing.T) {
	t.Parallel()
	got, err := bridge.ParseConfig([]byte(`[{"agent_id":"a","api_key":"k"},{"agent_id":"b","api_key":"k2","executor_key":"x"}]`), "http://h/")
	if err != nil || len(got) != 2 || got[0].ExecutorKey != "agnt-0" || got[1].ExecutorKey != "x" || got[0].URL != "http://h" {
		t.Fatalf("%+v %v", got, err)
	}
	got, err = bridge.ParseConfig([]byte(`{"url":"https://h","agents":[{"agent_id":"a","api_key":"k","backend":"claude"}]}`), "")
	if err != nil || got[0].URL != "https://h" || got[0].Backend != "claude" {
		t.Fatalf("%+v %v", got, err)
	}
	for _, bad := range []string{`[]`, `{}`, `[{"agent_id":"a"}]`, `x`, `[{"agent_id":"a","api_key":"k"},{"agent_id":"a","api_key":"k"}]`} {
		if _, err := bridge.ParseConfig([]byte(bad), "http://h"); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if _, err := bridge.ParseConfig([]byte(`[{"agent_id":"a","api_key":"k"}]`), ""); err == nil {
		t.Error("a missing address was accepted")
	}
}
