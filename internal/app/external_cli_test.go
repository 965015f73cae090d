package app_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
)

// desk is a person's machine with a real CLI, whose provider is the fake model.
type desk struct {
	*terminal
	model *fakemodel.Server
	agnt  string
	home  string
	env   []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{terminal: &terminal{Server: apptest.New(t), t: t}, model: fakemodel.New(t), agnt: filepath.Join(apptest.Programs(t), "agnt"), home: t.TempDir()}
	d.ownerID, d.owner = d.person("Ada")
	for _, dir := range []string{"codex", "work/.git"} {
		if err := os.MkdirAll(filepath.Join(d.home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/topic\n", "config": "[core]\n[remote \"origin\"]\n\turl = https://ada:s3cret-token@git.example.com/org/app.git\n",
	} {
		if err := os.WriteFile(filepath.Join(d.home, "work", ".git", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "CLAUDE_CONFIG_DIR=" + filepath.Join(d.home, "claude"), "CODEX_HOME=" + filepath.Join(d.home, "codex"),
		"ANTHROPIC_BASE_URL=" + d.model.URL, "ANTHROPIC_API_KEY=sk-made-up-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"AGNTCHAT_URL=" + d.URL, "AGENTGRAM_DEVICE_NAME=desk", "FAKE_API_KEY=sk-made-up-key",
	}
	return d
}

func (d *desk) program(name string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = d.env, filepath.Join(d.home, "work")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
	}
	return string(out)
}

// said are the mirrored texts of the one session room, oldest first, as "who: text".
func (d *desk) said() (room string, lines []string) {
	d.t.Helper()
	list, _ := d.call(d.owner, "GET", "/conversations", nil, 200)["conversations"].([]any)
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == "session" {
			if room != "" {
				d.t.Fatal("two session rooms")
			}
			room = c["id"].(string)
		}
	}
	if room == "" {
		d.t.Fatal("no session room")
	}
	ms := d.messages(room)
	for i := len(ms) - 1; i >= 0; i-- {
		meta, _ := ms[i]["metadata"].(map[string]any)
		who := "owner"
		if ms[i]["senderId"] == d.agentID {
			who = "agent"
		}
		switch kind, _ := meta["kind"].(string); {
		case kind != "":
			lines = append(lines, strings.TrimPrefix(kind, "external_session_"))
		default:
			lines = append(lines, who+": "+ms[i]["content"].(string))
		}
	}
	return room, lines
}

func TestB1_RealClaudeCodeIsShownAndReached(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	// Without a key on the command line: a second connect of the same agent takes it from the environment.
	inv := d.call(d.owner, "POST", "/invites", map[string]any{"displayName": "Desk"}, 201)
	out := d.program(d.agnt, "connect", "--session", "--tool", "claude", inv["code"].(string))
	if !strings.Contains(out, "+ hooks.SessionStart") || strings.Contains(out, "ak_") {
		t.Fatalf("%s", out)
	}
	d.credentials()
	settings := filepath.Join(d.home, "claude", "settings.json")
	before, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "AGENT_API_KEY="+d.key)
	if out := d.program(d.agnt, "connect", "--session", "--tool", "claude", "--agent-id", d.agentID); !strings.Contains(out, "nothing to change") {
		t.Errorf("%s", out)
	}
	if after, err := os.ReadFile(settings); err != nil || string(after) != string(before) {
		t.Errorf("a second connect changed the settings: %v\n%s", err, after)
	}

	claude := bridgetest.CLI(t, "claude")
	direct := d.call(d.owner, "POST", "/conversations", map[string]any{"type": "direct", "memberIds": []string{d.agentID}}, 201)["id"].(string)
	d.say(direct, "please say harbour too")
	d.model.On("hello desk", fakemodel.Step{Text: "Hello from the terminal."})
	d.program(claude, "-p", "hello desk")
	raw := d.model.Requests("/v1/messages")
	seen := false
	for _, r := range raw {
		seen = seen || strings.Contains(r.Raw, "please say harbour too")
	}
	if !seen {
		t.Error("the message did not reach the model")
	}
	room, lines := d.said()
	if got := strings.Join(lines, "; "); got != "started; owner: hello desk; agent: Hello from the terminal.; ended" {
		t.Errorf("%s", got)
	}
	c := d.call(d.owner, "GET", "/conversations/"+room, nil, 200)
	raw2, _ := json.Marshal(c)
	meta, _ := c["metadata"].(map[string]any)["session"].(map[string]any)
	if meta["state"] != "ended" || meta["branch"] != "topic" || meta["repo"] != "org/app" || meta["hostname"] != "desk" || strings.Contains(string(raw2), "s3cret-token") {
		t.Errorf("%v", meta)
	}
	receipts, _ := d.call(d.owner, "GET", "/conversations/"+direct+"/receipts", nil, 200)["receipts"].([]any)
	if len(receipts) != 1 || receipts[0].(map[string]any)["state"] != "read" {
		t.Errorf("%v", receipts)
	}
	if st, err := os.Stat(filepath.Join(d.home, ".agnt", "agents", d.agentID, "hook-token.json")); err != nil || (runtime.GOOS != "windows" && st.Mode().Perm() != 0o600) {
		t.Errorf("%v %v", st, err)
	}
	if left, err := filepath.Glob(filepath.Join(d.home, ".agnt", "agents", d.agentID, "sessions", "*")); err != nil || len(left) != 0 {
		t.Errorf("the detached process would go on: %v %v", left, err)
	}

	if out := d.program(d.agnt, "connect", "--session", "--tool", "claude", "--remove"); !strings.Contains(out, "- hooks.Stop") {
		t.Errorf("%s", out)
	}
	if raw, err := os.ReadFile(settings); err != nil || strings.Contains(string(raw), "hook claude") {
		t.Errorf("%s %v", raw, err)
	}
	d.program(claude, "-p", "hello desk")
	if _, again := d.said(); len(again) != len(lines) {
		t.Errorf("shown after the hook was taken out: %v", again[len(lines):])
	}
}

// TestB1_RealClaudeCodeGoesOnForWhatWasWrittenMeanwhile: a message that arrives while
// a turn runs makes it go on, once.
func TestB1_RealClaudeCodeGoesOnForWhatWasWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	inv := d.call(d.owner, "POST", "/invites", map[string]any{"displayName": "Desk"}, 201)
	d.program(d.agnt, "connect", "--session", "--tool", "claude", inv["code"].(string))
	d.credentials()
	direct := d.call(d.owner, "POST", "/conversations", map[string]any{"type": "direct", "memberIds": []string{d.agentID}}, 201)["id"].(string)
	wrote := make(chan struct{})
	go func() { // while the model is asked for the first time
		defer close(wrote)
		d.model.WaitFor("start the work")
		_, _, _ = request(t.Context(), d.URL, d.owner, "POST", "/api/conversations/"+direct+"/messages", `{"content":"one more thing: lighthouse"}`)
	}()
	d.model.On("start the work", fakemodel.Step{Text: "First part.", Gate: wrote})
	d.model.On("lighthouse", fakemodel.Step{Text: "And the lighthouse."})
	d.program(bridgetest.CLI(t, "claude"), "-p", "start the work")
	if _, lines := d.said(); strings.Join(lines, "; ") != "started; owner: start the work; agent: First part.; agent: And the lighthouse.; ended" {
		t.Errorf("%v", lines)
	}
}

func TestB1_RealCodexIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	config := filepath.Join(d.home, "codex", "config.toml")
	own := "model = \"fake-model\"\nmodel_provider = \"fake\"\napproval_policy = \"never\"\n\n[model_providers.fake]\nname = \"Fake\"\nbase_url = \"" + d.model.URL + "/v1\"\nenv_key = \"FAKE_API_KEY\"\nwire_api = \"responses\"\n"
	if err := os.WriteFile(config, []byte(own), 0o640); err != nil {
		t.Fatal(err)
	}
	inv := d.call(d.owner, "POST", "/invites", map[string]any{"displayName": "Desk"}, 201)
	d.program(d.agnt, "connect", "--session", "--tool", "codex", inv["code"].(string))
	d.credentials()
	d.model.On("hello codex", fakemodel.Step{Text: "Codex says hello."})
	d.program(bridgetest.CLI(t, "codex"), "exec", "--skip-git-repo-check", "hello codex")
	d.settled("agent: Codex says hello.")
	if _, lines := d.said(); strings.Join(lines, "; ") != "started; owner: hello codex; agent: Codex says hello." {
		t.Errorf("%v", lines)
	}
	if n := d.Count(t, `SELECT count(*) FROM external_sessions WHERE tool = 'codex' AND hostname = 'desk' AND branch = 'topic'`); n != 1 {
		t.Errorf("%d sessions", n)
	}
	d.program(d.agnt, "connect", "--session", "--tool", "codex", "--remove")
	if raw, err := os.ReadFile(config); err != nil || string(raw) != own {
		t.Errorf("%s %v", raw, err)
	}
}

// settled waits for a line of the session room. Codex does not wait for its notify
// program, and nothing tells of its end: the room is looked at again and again.
func (d *desk) settled(line string) {
	d.t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	text := strings.TrimPrefix(line, "agent: ")
	for d.Count(d.t, `SELECT count(*) FROM messages WHERE content = $1`, text) == 0 {
		select {
		case <-look.C:
		case <-deadline.C:
			d.t.Fatalf("%q was never said", line)
		}
	}
}

// credentials reads what connect stored.
func (d *desk) credentials() {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(d.home, ".agnt", "agents", "*", "credentials.json"))
	if err != nil || len(files) != 1 {
		d.t.Fatalf("%v %v", files, err)
	}
	var c struct {
		AgentID string `json:"agent_id"`
		APIKey  string `json:"api_key"`
	}
	raw, err := os.ReadFile(files[0])
	if err != nil || json.Unmarshal(raw, &c) != nil || c.AgentID == "" {
		d.t.Fatalf("%s %v", raw, err)
	}
	d.agentID, d.key = c.AgentID, c.APIKey
}

// TestB1_AgntConnectTakesAnInvite: the invite makes a local agent, which our bridge
// can serve at once.
func TestB1_AgntConnectTakesAnInvite(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	inv := d.call(d.owner, "POST", "/invites", map[string]any{"displayName": "Nova"}, 201)
	out := d.program(d.agnt, "connect", "--backend", "anthropic", inv["code"].(string))
	d.credentials()
	if !strings.Contains(out, "Connected: Nova ("+d.agentID+")") || strings.Contains(out, d.key) {
		t.Errorf("%s", out)
	}
	if a := d.call(d.owner, "GET", "/agents/"+d.agentID, nil, 200); a["runtime"] != "local" {
		t.Errorf("%v", a["runtime"])
	}
	if n := d.Count(t, `SELECT count(*) FROM executors WHERE agent_id = $1::uuid AND executor_key = 'agnt'`, d.agentID); n != 1 {
		t.Errorf("%d executors", n)
	}
}

// trust does what a person does in /hooks of Codex, by the same calls.
func (d *desk) trust() {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), bridgetest.CLI(d.t, "codex"), "app-server")
	cmd.Env, cmd.Dir = d.env, filepath.Join(d.home, "work")
	in, err := cmd.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	lines := json.NewDecoder(out)
	call := func(id int, method string, params, into any) {
		d.t.Helper()
		if err := json.NewEncoder(in).Encode(map[string]any{"id": id, "method": method, "params": params}); err != nil {
			d.t.Fatal(err)
		}
		for {
			var m struct {
				ID            *int
				Result, Error json.RawMessage
			}
			if err := lines.Decode(&m); err != nil {
				d.t.Fatal(err)
			}
			if m.ID == nil || *m.ID != id {
				continue
			}
			if len(m.Error) > 0 && string(m.Error) != "null" {
				d.t.Fatalf("%s: %s", method, m.Error)
			}
			if into != nil {
				if err := json.Unmarshal(m.Result, into); err != nil {
					d.t.Fatal(err)
				}
			}
			return
		}
	}
	call(1, "initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}, "capabilities": map[string]any{"experimentalApi": true}}, nil)
	_ = json.NewEncoder(in).Encode(map[string]any{"method": "initialized"})
	var list struct {
		Data []struct {
			Hooks []struct{ Key, EventName, Command, CurrentHash string }
		}
	}
	call(2, "hooks/list", map[string]any{"cwds": []string{filepath.Join(d.home, "work")}}, &list)
	states := map[string]any{}
	for _, h := range list.Data[0].Hooks {
		if strings.Contains(h.Command, " hook codex --home ") {
			states[h.Key] = map[string]any{"trusted_hash": h.CurrentHash, "enabled": true}
		}
	}
	if len(states) != 3 {
		d.t.Fatalf("Codex sees %+v", list)
	}
	call(3, "config/batchWrite", map[string]any{"edits": []any{map[string]any{"keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert"}}, "reloadUserConfig": true}, nil)
}

// TestB1_RealCodexReadsItsMessages: once a person has trusted the hooks, messages come
// into a session of Codex with a prompt and at the end of a turn, and nothing is shown twice.
func TestB1_RealCodexReadsItsMessages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	config := filepath.Join(d.home, "codex", "config.toml")
	own := "model = \"fake-model\"\nmodel_provider = \"fake\"\napproval_policy = \"never\"\n\n[model_providers.fake]\nname = \"Fake\"\nbase_url = \"" + d.model.URL + "/v1\"\nenv_key = \"FAKE_API_KEY\"\nwire_api = \"responses\"\n"
	if err := os.WriteFile(config, []byte(own), 0o640); err != nil {
		t.Fatal(err)
	}
	inv := d.call(d.owner, "POST", "/invites", map[string]any{"displayName": "Desk"}, 201)
	if out := d.program(d.agnt, "connect", "--session", "--tool", "codex", inv["code"].(string)); !strings.Contains(out, "/hooks") {
		t.Errorf("the person is not told to trust the hooks: %s", out)
	}
	d.credentials()
	d.trust()
	direct := d.call(d.owner, "POST", "/conversations", map[string]any{"type": "direct", "memberIds": []string{d.agentID}}, 201)["id"].(string)
	d.say(direct, "please say harbour too")
	wrote := make(chan struct{})
	go func() { // while the model is asked for the first time
		defer close(wrote)
		d.model.WaitFor("start the work")
		_, _, _ = request(t.Context(), d.URL, d.owner, "POST", "/api/conversations/"+direct+"/messages", `{"content":"one more thing: lighthouse"}`)
	}()
	d.model.On("lighthouse", fakemodel.Step{Text: "And the lighthouse."})
	d.model.On("start the work", fakemodel.Step{Text: "First part.", Gate: wrote})
	d.program(bridgetest.CLI(t, "codex"), "exec", "--skip-git-repo-check", "start the work")
	d.settled("agent: And the lighthouse.")
	harbour := false
	for _, r := range d.model.Requests("/v1/responses") {
		harbour = harbour || strings.Contains(r.Raw, "please say harbour too")
	}
	if !harbour {
		t.Error("the message that waited did not reach the model")
	}
	_, lines := d.said()
	if got := strings.Join(lines, "; "); got != "started; owner: start the work; agent: First part.; agent: And the lighthouse." {
		t.Errorf("%s", got)
	}
	d.program(d.agnt, "connect", "--session", "--tool", "codex", "--remove")
	if _, err := os.Stat(filepath.Join(d.home, "codex", "hooks.json")); !os.IsNotExist(err) {
		t.Errorf("hooks are left: %v", err)
	}
}
