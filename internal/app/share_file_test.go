package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/session"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
)

// caller is a model that makes the calls it is given and says what came of them.
type caller struct {
	calls chan string
	ran   chan backend.ToolResult
}

func (caller) Name() string                { return "scripted" }
func (caller) Check(context.Context) error { return nil }
func (caller) Close() error                { return nil }
func (c caller) Run(ctx context.Context, t backend.Turn, _ func(backend.Event)) (backend.Result, error) {
	for {
		select {
		case call := <-c.calls:
			if call == "" {
				return backend.Result{Text: "Done.", Model: "m"}, nil
			}
			name, args, _ := strings.Cut(call, " ")
			c.ran <- t.Toolbox.Call(ctx, name, json.RawMessage(args))
		case <-ctx.Done():
			return backend.Result{}, ctx.Err()
		}
	}
}

// call has the running model make one call.
func (c caller) call(name, args string) backend.ToolResult {
	c.calls <- name + " " + args
	return <-c.ran
}

// serve runs our bridge for an agent whose model is a caller.
func serve(t *testing.T, base, agent, key, dir string) caller {
	t.Helper()
	model := caller{calls: make(chan string), ran: make(chan backend.ToolResult)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- session.New(session.Options{
			URL: base, AgentID: agent, Key: key, ExecutorKey: "k", Version: "1", Dir: dir, Log: slog.New(slog.DiscardHandler), Timing: session.DefaultTiming(),
			NewBackend: func(context.Context, session.Need) (backend.Backend, error) { return model, nil },
		}).Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return model
}

// TestT3_WhoWritesToABusyAgentIsToldWhereItWorks: the agent works at a task of the room in
// a room of its own; who writes to it is led there (desktop contract 3.5), and to nobody else.
func TestT3_WhoWritesToABusyAgentIsToldWhereItWorks(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	owner, ownerID := person(t, s.URL)
	var made struct{ ID, APIKey string }
	call(t, s.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Bot"}, 0, &made)
	var room, task struct{ ID, WorkConversationID string }
	call(t, s.URL, owner, "POST", "/api/conversations", map[string]any{"type": "direct", "memberIds": []string{made.ID}}, 0, &room)
	me := phxtest.Dial(t, s.URL, phxtest.Options{Token: owner}).Join("user:"+ownerID, map[string]any{"client": "web"})
	model := serve(t, s.URL, made.ID, made.APIKey, t.TempDir())
	call(t, s.URL, owner, "POST", "/api/conversations/"+room.ID+"/tasks", map[string]any{"title": "Count", "assignedTo": []string{made.ID}}, 0, &task)
	model.call("get_profile", `{}`) // it runs
	call(t, s.URL, owner, "POST", "/api/conversations/"+room.ID+"/messages", map[string]any{"content": "are you there?"}, 0, nil)
	var told struct{ AgentID, AgentName, ParentConversationID, WorkConversationID, TaskID, TaskTitle string }
	until(me, "agent_busy_redirect", &told)
	if told.AgentID != made.ID || told.AgentName != "Bot" || told.ParentConversationID != room.ID || told.WorkConversationID == room.ID || told.TaskID != task.ID || told.TaskTitle != "Count" {
		t.Errorf("told %+v", told)
	}
	model.calls <- ""
	model.calls <- ""
}

// TestK3_ShareFileFromTheWorkingFolder: an agent of our bridge shares a file that it
// made; nothing outside of its working folder, nothing that is no file, and nothing
// into a room where the person of the turn may not write.
func TestK3_ShareFileFromTheWorkingFolder(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	owner, _ := person(t, s.URL)
	var made struct{ ID, APIKey string }
	call(t, s.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Bot"}, 0, &made)
	var room, other struct{ ID string }
	call(t, s.URL, owner, "POST", "/api/conversations", map[string]any{"type": "direct", "memberIds": []string{made.ID}}, 0, &room)
	guest, _ := person(t, s.URL)
	var theirs struct{ ID string }
	call(t, s.URL, guest, "POST", "/api/agents", map[string]any{"displayName": "Theirs"}, 0, &theirs)
	call(t, s.URL, guest, "POST", "/api/conversations", map[string]any{"type": "direct", "memberIds": []string{theirs.ID}}, 201, &other)

	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(work, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path string, size int64, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if size > 0 {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(filepath.Join(dir, "key.json"), 0, "secret")
	write(filepath.Join(work, "out", "report.txt"), 0, "forty-two")
	write(filepath.Join(work, "empty"), 0, "")
	write(filepath.Join(work, "huge"), 25<<20+1, "")
	if err := os.Symlink("../key.json", filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(work, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}

	model := serve(t, s.URL, made.ID, made.APIKey, dir)
	call(t, s.URL, owner, "POST", "/api/conversations/"+room.ID+"/messages", map[string]any{"content": "share it"}, 0, nil)

	for path, why := range map[string]string{
		"../key.json": "working folder", filepath.Join(dir, "key.json"): "working folder", "link": "working folder", "/etc/passwd": "working folder",
		"pipe": "not a file", "out": "not a file", "empty": "empty", "huge": "25 MiB", "none": "no such file", "": "empty", "/dev/zero": "working folder",
	} {
		r := model.call("share_file", fmt.Sprintf(`{"path":%q,"conversation_id":"current"}`, path))
		if !r.IsError || !strings.Contains(r.Text, why) || strings.Contains(r.Text, "secret") {
			t.Errorf("%q: %+v", path, r)
		}
	}
	if r := model.call("share_file", fmt.Sprintf(`{"path":"out/report.txt","conversation_id":%q}`, other.ID)); !r.IsError {
		t.Errorf("shared into a room of strangers: %s", r.Text)
	}
	r := model.call("share_file", fmt.Sprintf(`{"path":%q,"conversation_id":"current","caption":"here"}`, filepath.Join(work, "out", "report.txt")))
	var shared struct{ Status, MessageID, FileID, Filename string }
	if json.Unmarshal([]byte(r.Text), &shared) != nil || r.IsError || shared.Status != "shared" || shared.Filename != "report.txt" {
		t.Fatalf("shared: %+v", r)
	}
	var at struct{ URL string }
	call(t, s.URL, owner, "GET", "/api/files/"+shared.FileID+"/download-url", nil, 200, &at)
	res, err := http.Get(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, _ := io.ReadAll(res.Body); string(body) != "forty-two" {
		t.Errorf("people read %q", body)
	}
	// The other tools meet the same check, and people see every call.
	if r := model.call("get_messages", fmt.Sprintf(`{"conversation_id":%q}`, other.ID)); !r.IsError {
		t.Errorf("read a room of strangers: %s", r.Text)
	}
	if r := model.call("send_message", fmt.Sprintf(`{"conversation_id":%q,"content":"hi"}`, other.ID)); !r.IsError {
		t.Errorf("wrote to a room of strangers: %s", r.Text)
	}
	if r := model.call("get_messages", `{"conversation_id":"current"}`); r.IsError || !strings.Contains(r.Text, "share it") {
		t.Errorf("read: %+v", r)
	}
	var seen struct {
		ToolCalls []struct{ Tool, Outcome string }
	}
	call(t, s.URL, owner, "GET", "/api/agents/"+made.ID+"/tool-calls", nil, 200, &seen)
	if len(seen.ToolCalls) < 5 {
		t.Errorf("recorded %+v", seen.ToolCalls)
	}
	model.calls <- ""
}

// TestK3_ShareFileIsPostedOnce: the answer that a file was posted gets lost on its way to
// our bridge; the model makes the call again, and the room shows one file.
func TestK3_ShareFileIsPostedOnce(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	owner, _ := person(t, s.URL)
	var made struct{ ID, APIKey string }
	call(t, s.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Bot"}, 0, &made)
	var room struct{ ID string }
	call(t, s.URL, owner, "POST", "/api/conversations", map[string]any{"type": "direct", "memberIds": []string{made.ID}}, 0, &room)
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var cut atomic.Bool
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if cut.Load() && strings.HasSuffix(r.Request.URL.Path, "/files/confirm") {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "work", "report.txt"), []byte("forty-two"), 0o600); err != nil {
		t.Fatal(err)
	}
	model := serve(t, proxy.URL, made.ID, made.APIKey, dir)
	call(t, s.URL, owner, "POST", "/api/conversations/"+room.ID+"/messages", map[string]any{"content": "share it"}, 0, nil)
	const args = `{"path":"report.txt","conversation_id":"current","caption":"here"}`
	cut.Store(true)
	if r := model.call("share_file", args); !r.IsError || !strings.Contains(r.Text, "make the same call again") {
		t.Errorf("a lost answer: %+v", r)
	}
	cut.Store(false)
	var first, other struct{ Status, MessageID, FileID string }
	if r := model.call("share_file", args); r.IsError || json.Unmarshal([]byte(r.Text), &first) != nil || first.Status != "shared" || first.FileID == "" {
		t.Errorf("the same call again: %+v", r)
	}
	var files struct {
		Files []struct{ ID, MessageID string }
	}
	call(t, s.URL, owner, "GET", "/api/conversations/"+room.ID+"/files", nil, 200, &files)
	if len(files.Files) != 1 || files.Files[0].MessageID != first.MessageID || files.Files[0].ID != first.FileID {
		t.Errorf("the room shows %+v, the model knows %+v", files.Files, first)
	}
	if r := model.call("share_file", `{"path":"report.txt","conversation_id":"current","caption":"again"}`); r.IsError || json.Unmarshal([]byte(r.Text), &other) != nil || other.MessageID == first.MessageID {
		t.Errorf("with other words it is another message: %+v", r)
	}
	model.calls <- ""
}
