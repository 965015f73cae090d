package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
)

// durableCLI is a real agent CLI whose calls wait for people.
type durableCLI struct {
	name  string
	anew  bool // the model makes the call anew after the decision
	tool  func(command string) fakemodel.Tool
	env   func(home string, model *fakemodel.Server) []string
	again string // what the last question contains when the run goes on
	// alter changes one byte of what would run, as whoever holds the bridge's disk could.
	alter func(t *testing.T, home, from, to string, model *fakemodel.Server)
}

func durableCLIs(t *testing.T) []durableCLI {
	t.Helper()
	call := func(name, key, command string) fakemodel.Tool {
		raw, _ := json.Marshal(map[string]string{key: command})
		return fakemodel.Tool{Name: name, Args: string(raw)}
	}
	return []durableCLI{
		{
			name: "claude", again: "Continue from where you left off",
			tool: func(command string) fakemodel.Tool { return call("Bash", "command", command) },
			env: func(home string, model *fakemodel.Server) []string {
				return []string{
					"CLAUDE_CLI_PATH=" + bridgetest.CLI(t, "claude"), "CLAUDE_CONFIG_DIR=" + filepath.Join(home, "claude"), "IS_SANDBOX=1",
					"ANTHROPIC_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=sk-made-up",
				}
			},
			alter: func(t *testing.T, home, from, to string, _ *fakemodel.Server) {
				t.Helper()
				changed := 0
				_ = filepath.WalkDir(filepath.Join(home, "claude", "projects"), func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					raw, err := os.ReadFile(path)
					if err == nil && bytes.Contains(raw, []byte(from)) {
						changed++
						err = os.WriteFile(path, bytes.ReplaceAll(raw, []byte(from), []byte(to)), 0o600)
					}
					return err
				})
				if changed == 0 {
					t.Fatal("the session of the CLI was not found")
				}
			},
		},
		{
			name: "codex", anew: true, again: "People have approved",
			tool: func(command string) fakemodel.Tool { return call("exec_command", "cmd", command) },
			env: func(home string, model *fakemodel.Server) []string {
				codexHome := filepath.Join(home, "codex")
				if err := os.MkdirAll(codexHome, 0o700); err != nil {
					t.Fatal(err)
				}
				return []string{"CODEX_CLI_PATH=" + bridgetest.CLI(t, "codex"), "CODEX_HOME=" + codexHome, "OPENAI_BASE_URL=" + model.URL + "/v1", "OPENAI_API_KEY=sk-made-up"}
			},
		},
	}
}

// durableWorld is one agent on a real CLI, one person, and processes that die.
type durableWorld struct {
	t          *testing.T
	p          *apptest.Processes
	cli        durableCLI
	model      *fakemodel.Server
	home       string
	owner, id  string
	agent, key string
	room       string
	bridge     *apptest.Child
	flags      []string // of the bridge, beside the usual ones
}

func newDurableWorld(t *testing.T, cli durableCLI) *durableWorld {
	t.Helper()
	w := &durableWorld{t: t, p: apptest.Process(t), cli: cli, model: fakemodel.New(t), home: apptest.DataDir(t)}
	w.owner, w.id = person(t, w.p.URL)
	var made struct{ ID, APIKey string }
	call(t, w.p.URL, w.owner, "POST", "/api/agents", map[string]any{"displayName": "Bot"}, 0, &made)
	w.agent, w.key = made.ID, made.APIKey
	var room struct{ ID string }
	call(t, w.p.URL, w.owner, "POST", "/api/conversations", map[string]any{"type": "direct", "memberIds": []string{made.ID}}, 0, &room)
	w.room = room.ID
	w.startBridge()
	return w
}

func (w *durableWorld) startBridge() {
	w.t.Helper()
	node, err := exec.LookPath("node") // Codex's launcher is a script for it
	if err != nil {
		w.t.Fatal(err)
	}
	env := append(w.cli.env(w.home, w.model), "PATH="+filepath.Dir(node)+":/usr/local/bin:/usr/bin:/bin", "AGENT_API_KEY="+w.key, "AGNT_HOME="+filepath.Join(w.home, "agnt"), "HOME="+w.home)
	w.bridge = apptest.Start(w.t, "agnt bridge", w.home, env, filepath.Join(apptest.Programs(w.t), "agnt"),
		append([]string{"bridge", "--url", w.p.URL, "--agent-id", w.agent, "--backend", w.cli.name}, w.flags...)...)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if _, err := w.bridge.WaitOutput(ctx, "agent is online"); err != nil {
		w.t.Fatalf("%v\n%s", err, w.bridge.Output())
	}
}

func (w *durableWorld) people() *phxtest.Channel {
	return phxtest.Dial(w.t, w.p.URL, phxtest.Options{Token: w.owner}).Join("user:"+w.id, map[string]any{"client": "web"})
}

// ask writes the message that makes the agent want the command, and waits for the
// request that people see.
func (w *durableWorld) ask(me *phxtest.Channel, command string) (request string) {
	w.t.Helper()
	done := []fakemodel.Step{{Text: "It is made."}}
	if w.cli.anew {
		done = append([]fakemodel.Step{{Tools: []fakemodel.Tool{w.cli.tool(command)}}}, done...)
	}
	w.model.On(w.cli.again, done...)
	w.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{w.cli.tool(command)}})
	call(w.t, w.p.URL, w.owner, "POST", "/api/conversations/"+w.room+"/messages", map[string]any{"content": "make it"}, 0, nil)
	var told struct{ ID, Action, ActionHash string }
	until(me, "permission_request", &told)
	if !strings.Contains(told.Action, command) || len(told.ActionHash) != 64 {
		w.t.Fatalf("people see %+v", told)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if _, err := w.bridge.WaitOutput(ctx, "turn finished"); err != nil {
		w.t.Fatal(err)
	}
	return told.ID
}

// allDown kills the bridge and the server, and makes sure that no CLI is left.
func (w *durableWorld) allDown() {
	w.t.Helper()
	w.bridge.Kill()
	w.p.Server.Kill()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C { // the kernel ends the CLI with its bridge, a moment later
		left := w.alive()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("still alive while people decide: %q", left)
		}
	}
}

// alive lists the processes whose folder is the agent's.
func (w *durableWorld) alive() (out []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && strings.HasPrefix(cwd, w.home) {
			if cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(l), "cmdline")); len(cmdline) > 0 {
				out = append(out, string(cmdline))
			}
		}
	}
	return out
}

func (w *durableWorld) up() {
	w.t.Helper()
	if err := w.p.StartServer(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *durableWorld) answer(room *phxtest.Channel, want string) {
	w.t.Helper()
	for {
		var m struct{ SenderID, Content string }
		until(room, "new_message", &m)
		if m.SenderID == w.agent {
			if m.Content != want {
				w.t.Fatalf("the agent says %q, want %q\n%s", m.Content, want, w.bridge.Output())
			}
			return
		}
	}
}

// TestS1_ApprovedAfterEverythingWasRestarted is acceptance 2 of the gateway: between
// question and decision no process of server, bridge or CLI is alive; what was
// approved runs exactly once.
func TestS1_ApprovedAfterEverythingWasRestarted(t *testing.T) {
	t.Parallel()
	for _, cli := range durableCLIs(t) {
		t.Run(cli.name, func(t *testing.T) {
			t.Parallel()
			w := newDurableWorld(t, cli)
			const made = "made" // in the CLI's working folder
			request := w.ask(w.people(), "echo once >> "+made)
			w.allDown()

			w.up()
			call(t, w.p.URL, w.owner, "POST", "/api/permission-requests/"+request+"/resolve", map[string]any{"decision": "approve", "always": false}, 200, nil)
			w.p.Server.Kill()
			w.up()
			room := phxtest.Dial(t, w.p.URL, phxtest.Options{Token: w.owner}).Join("conversation:"+w.room, map[string]any{})
			w.startBridge()
			w.answer(room, "It is made.")
			w.once(made)

			// Started once more, nothing is left to do: the decision was spent.
			w.bridge.Kill()
			w.startBridge()
			w.model.On("anything else", fakemodel.Step{Text: "No."})
			call(t, w.p.URL, w.owner, "POST", "/api/conversations/"+w.room+"/messages", map[string]any{"content": "anything else"}, 0, nil)
			w.answer(room, "No.")
			w.once(made)
		})
	}
}

// once checks that the command wrote one line, wherever its working folder is.
func (w *durableWorld) once(made string) {
	w.t.Helper()
	found := 0
	_ = filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(path) == filepath.Base(made) {
			found++
			if raw, _ := os.ReadFile(path); string(raw) != "once\n" {
				w.t.Errorf("%s holds %q", path, raw)
			}
		}
		return nil
	})
	if found != 1 {
		w.t.Errorf("the command ran %d times\n%s", found, w.bridge.Output())
	}
}

// TestS1_OneChangedByteAsksAgain: what would run after the decision is not what was
// approved. It does not run; people are asked about the new one.
func TestS1_OneChangedByteAsksAgain(t *testing.T) {
	t.Parallel()
	for _, cli := range durableCLIs(t) {
		t.Run(cli.name, func(t *testing.T) {
			t.Parallel()
			w := newDurableWorld(t, cli)
			if cli.anew { // this model makes another call than it was told
				w.model.On(cli.again, fakemodel.Step{Tools: []fakemodel.Tool{cli.tool("touch fileB")}})
			}
			request := w.ask(w.people(), "touch fileA")
			w.allDown()
			if cli.alter != nil {
				cli.alter(t, w.home, "touch fileA", "touch fileB", w.model)
			}
			w.up()
			me := w.people()
			call(t, w.p.URL, w.owner, "POST", "/api/permission-requests/"+request+"/resolve", map[string]any{"decision": "approve", "always": false}, 200, nil)
			w.startBridge()
			for {
				var told struct{ ID, Action string }
				until(me, "permission_request", &told)
				if told.ID == request {
					continue
				}
				if !strings.Contains(told.Action, "touch fileB") {
					t.Errorf("people are asked about %s", told.Action)
				}
				break
			}
			_ = filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasPrefix(d.Name(), "file") && len(d.Name()) == 5 {
					t.Errorf("it ran: %s", path)
				}
				return nil
			})
		})
	}
}

// TestS1_ApprovedCallOfATaskEndsTheTask: a task waits while people decide about a call
// of its run; the resumed run ends it, once.
func TestS1_ApprovedCallOfATaskEndsTheTask(t *testing.T) {
	t.Parallel()
	for _, cli := range durableCLIs(t) {
		t.Run(cli.name, func(t *testing.T) {
			t.Parallel()
			w := newDurableWorld(t, cli)
			done := []fakemodel.Step{{Text: "It is made."}}
			if cli.anew {
				done = append([]fakemodel.Step{{Tools: []fakemodel.Tool{cli.tool("echo once >> made")}}}, done...)
			}
			w.model.On(cli.again, done...)
			w.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{cli.tool("echo once >> made")}})
			me := w.people()
			var made struct{ ID string }
			call(t, w.p.URL, w.owner, "POST", "/api/conversations/"+w.room+"/tasks", map[string]any{"title": "make it", "assignedTo": []string{w.agent}}, 0, &made)
			var told struct{ ID, TaskID string }
			until(me, "permission_request", &told)
			if told.TaskID != made.ID {
				t.Errorf("the request belongs to the task %q, want %q", told.TaskID, made.ID)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if _, err := w.bridge.WaitOutput(ctx, "turn finished"); err != nil {
				t.Fatal(err)
			}
			w.bridge.Kill()
			call(t, w.p.URL, w.owner, "POST", "/api/permission-requests/"+told.ID+"/resolve", map[string]any{"decision": "approve", "always": false}, 200, nil)
			w.startBridge()
			var task struct{ ID, Status string }
			until(me, "task_completed", &task)
			call(t, w.p.URL, w.owner, "GET", "/api/tasks/"+made.ID, nil, 200, &task)
			if task.ID != made.ID || task.Status != "complete" {
				t.Errorf("the task is %+v\n%s", task, w.bridge.Output())
			}
			w.once("made")
		})
	}
}

// TestS1_TalkInAWorkRoomEndsNoTask: while a task waits for a decision, people talk with
// its agent in its room, and a call of that talk is decided and resumed on its own.
func TestS1_TalkInAWorkRoomEndsNoTask(t *testing.T) {
	t.Parallel()
	cli := durableCLIs(t)[0]
	w := newDurableWorld(t, cli)
	w.model.On(cli.again, fakemodel.Step{Text: "It is said."}, fakemodel.Step{Text: "It is made."})
	w.model.On("say it", fakemodel.Step{Tools: []fakemodel.Tool{cli.tool("echo once >> said")}})
	w.model.On("make it", fakemodel.Step{Tools: []fakemodel.Tool{cli.tool("echo once >> made")}})
	me := w.people()
	var task struct{ ID, Status, WorkConversationID string }
	call(t, w.p.URL, w.owner, "POST", "/api/conversations/"+w.room+"/tasks", map[string]any{"title": "make it", "assignedTo": []string{w.agent}}, 0, &task)
	var ofTask, ofTalk struct{ ID, TaskID, Action string }
	until(me, "permission_request", &ofTask)
	status := func() string {
		t.Helper()
		call(t, w.p.URL, w.owner, "GET", "/api/tasks/"+task.ID, nil, 200, &task)
		return task.Status
	}
	for task.Status != "waiting" {
		until(me, "task_updated", &task)
	}
	room := phxtest.Dial(t, w.p.URL, phxtest.Options{Token: w.owner}).Join("conversation:"+task.WorkConversationID, map[string]any{})
	call(t, w.p.URL, w.owner, "POST", "/api/conversations/"+task.WorkConversationID+"/messages", map[string]any{"content": "say it"}, 0, nil)
	until(me, "permission_request", &ofTalk)
	if ofTalk.TaskID != "" || !strings.Contains(ofTalk.Action, "said") {
		t.Fatalf("the talk asks %+v", ofTalk)
	}
	call(t, w.p.URL, w.owner, "POST", "/api/permission-requests/"+ofTalk.ID+"/resolve", map[string]any{"decision": "approve", "always": false}, 200, nil)
	w.answer(room, "It is said.")
	w.once("said")
	if got := status(); got != "waiting" {
		t.Fatalf("the talk left the task %s\n%s", got, w.bridge.Output())
	}
	call(t, w.p.URL, w.owner, "POST", "/api/permission-requests/"+ofTask.ID+"/resolve", map[string]any{"decision": "approve", "always": false}, 200, nil)
	until(me, "task_completed", &task)
	if got := status(); got != "complete" {
		t.Errorf("the task is %s", got)
	}
	w.once("made")
}
