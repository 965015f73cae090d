package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/mcpserve"
	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// Run answers one turn in the thread of its conversation. When the process
// dies under way it is started again, the thread resumed and the turn asked
// once more.
func (b *Backend) Run(ctx context.Context, t backend.Turn, emit func(backend.Event)) (backend.Result, error) {
	room := b.room(t.ConversationID)
	room.Lock()
	defer room.Unlock()
	for attempt := 0; ; attempt++ {
		emit(backend.Event{Kind: backend.Thinking})
		r := &run{b: b, turn: t, emit: emit, changes: map[string]json.RawMessage{}}
		err := r.play(ctx)
		switch {
		case err == nil:
			return r.res, nil
		case ctx.Err() != nil:
			return r.res, context.Cause(ctx)
		case errors.Is(err, errGone) && attempt == 0:
			b.opt.Log.Warn("codex ended in the middle of a turn, resuming", "conversation_id", t.ConversationID)
			emit(backend.Event{Kind: backend.Reset})
		case errors.Is(err, errGone):
			if r.s != nil && r.s.p.Killed() {
				return r.res, backend.Errorf(backend.CodeKilled, "Codex was killed while it was answering.")
			}
			return r.res, backend.Errorf(backend.CodeModel, "Codex ended before it answered. %s", r.stderr())
		default:
			return r.res, err
		}
	}
}

// run is one attempt at a turn.
type run struct {
	b     *Backend
	s     *server
	turn  backend.Turn
	emit  func(backend.Event)
	res   backend.Result
	item  string // agent message being written
	shown bool
	last  *turnError // latest error the CLI reported

	thread, turnID string
	changes        map[string]json.RawMessage // of file changes that have begun, by item
	waits          bool                       // the turn was ended for an approval
}

type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
	Details string          `json:"additionalDetails"`
}

func (r *run) stderr() string {
	if r.s == nil {
		return ""
	}
	return backend.Short(r.s.p.Stderr())
}

func (r *run) play(ctx context.Context) error {
	s, err := r.b.running(ctx)
	if err != nil {
		return err
	}
	r.s = s
	if r.turn.Toolbox != nil {
		defer r.b.tools.Bind(toolKey(r.turn.ConversationID), r.turn.Toolbox)()
	}
	sess, fresh, err := r.open(ctx)
	if err != nil {
		return err
	}
	events, leave := s.follow(sess.ID, r.gated())
	defer leave()
	params := map[string]any{"threadId": sess.ID, "input": []any{map[string]any{"type": "text", "text": r.prompt(sess, fresh)}}}
	if r.turn.Effort != "" {
		params["effort"] = strings.ReplaceAll(r.turn.Effort, "max", "high")
	}
	var started struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	if err := s.call(ctx, "turn/start", params, &started); err != nil {
		if _, ok := errors.AsType[*rpcError](err); ok {
			return &backend.Error{Code: backend.CodeModel, Message: "Codex did not take the turn.", Cause: err}
		}
		return err
	}
	sess.Started = true
	if last := r.turn.Input[len(r.turn.Input)-1].ID; last != "" {
		sess.LastMessage = last
	}
	r.save(sess)
	r.thread, r.turnID = sess.ID, started.Turn.ID
	defer r.b.listen(r.turn.ConversationID, running{s, sess.ID, started.Turn.ID})()
	return r.follow(ctx, events, sess.ID, started.Turn.ID)
}

func (r *run) save(sess workdir.Session) {
	if err := r.b.opt.Dir.SaveSession(cli, r.turn.ConversationID, sess); err != nil {
		r.b.opt.Log.Warn("session not saved", "conversation_id", r.turn.ConversationID, "error", err)
	}
}

// open resumes the conversation's thread or starts one. fresh says that the
// thread has seen nothing yet.
func (r *run) open(ctx context.Context) (sess workdir.Session, fresh bool, err error) {
	t := r.turn
	params := map[string]any{
		"cwd": r.b.opt.Dir.Work(), "approvalPolicy": "never", "sandbox": "read-only",
		"baseInstructions": t.System, "config": r.config(),
	}
	switch {
	case t.SkipPerms:
		params["sandbox"] = "danger-full-access"
	case r.gated(): // what is approved may write in the working folder, nothing more
		params["approvalPolicy"], params["sandbox"] = "untrusted", "workspace-write"
	}
	if t.Model != "" {
		params["model"] = t.Model
	}
	var out struct {
		Model  string `json:"model"`
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	old, known := r.b.opt.Dir.LoadSession(cli, t.ConversationID)
	if known && old.Started {
		params["threadId"], params["excludeTurns"] = old.ID, true
		err := r.s.call(ctx, "thread/resume", params, &out)
		if err == nil {
			r.res.Model = out.Model
			return old, false, nil
		}
		if _, ok := errors.AsType[*rpcError](err); !ok {
			return sess, false, err
		}
		r.b.opt.Log.Warn("codex lost a thread, starting a new one", "conversation_id", t.ConversationID, "error", err)
		delete(params, "threadId")
		delete(params, "excludeTurns")
	}
	if err := r.s.call(ctx, "thread/start", params, &out); err != nil {
		if _, ok := errors.AsType[*rpcError](err); ok {
			return sess, false, &backend.Error{Code: backend.CodeModel, Message: "Codex did not open a thread.", Cause: err}
		}
		return sess, false, err
	}
	r.res.Model = out.Model
	return workdir.Session{ID: out.Thread.ID}, true, nil
}

// config gives the thread the tools of its conversation.
func (r *run) config() map[string]any {
	if r.turn.Toolbox == nil {
		return map[string]any{}
	}
	return map[string]any{"mcp_servers": map[string]any{mcpserve.Name: map[string]any{
		"url": r.b.tools.URL(toolKey(r.turn.ConversationID)), "bearer_token_env_var": toolTokenVar, "default_tools_approval_mode": "approve",
	}}}
}

func (r *run) prompt(sess workdir.Session, fresh bool) string {
	missed := r.turn.History
	if !fresh {
		if sess.LastMessage == r.turn.Input[len(r.turn.Input)-1].ID {
			missed = nil
		} else if since, known := r.turn.Since(sess.LastMessage); known {
			missed = nil
			for _, m := range since {
				if !m.Assistant {
					missed = append(missed, m)
				}
			}
		}
	}
	if len(missed) == 0 {
		return r.turn.LastInput()
	}
	return "<conversation_so_far>\n" + backend.Transcript(missed, "the agent") + "\n</conversation_so_far>\n\n" + r.turn.LastInput()
}

// follow reads the turn's notifications until it has ended. After a cancel the
// turn is interrupted; if that does not help, the process is ended.
func (r *run) follow(ctx context.Context, events chan message, threadID, turnID string) error {
	quiet := time.NewTimer(r.b.opt.Silence)
	defer quiet.Stop()
	cancelled := ctx.Done()
	var giveUp <-chan time.Time
	for {
		select {
		case m := <-events:
			if len(m.ID) > 0 {
				r.approve(ctx, m)
				quiet.Reset(r.b.opt.Silence)
				continue
			}
			quiet.Reset(r.b.opt.Silence)
			if done, err := r.event(m); done {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return err
			}
		case <-r.s.done:
			return errGone
		case <-cancelled:
			cancelled = nil
			t := time.NewTimer(10 * time.Second)
			defer t.Stop()
			giveUp = t.C
			go func() {
				ictx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer cancel()
				_ = r.s.call(ictx, "turn/interrupt", map[string]any{"threadId": threadID, "turnId": turnID}, nil)
			}()
		case <-giveUp:
			r.s.stop(0)
			return context.Cause(ctx)
		case <-quiet.C:
			r.s.stop(0)
			return backend.Errorf(backend.CodeTimeout, "Codex was silent for %s and was ended.", r.b.opt.Silence)
		}
	}
}

// event takes one notification; done is true when the turn has ended.
func (r *run) event(m message) (done bool, err error) {
	var p struct {
		Delta  string `json:"delta"`
		ItemID string `json:"itemId"`
		Item   struct {
			ID   string `json:"id"`
			Type string `json:"type"`
			Text string `json:"text"`
			Tool string `json:"tool"`
			// Changes are those of a fileChange.
			Changes json.RawMessage `json:"changes"`
		} `json:"item"`
		Error      *turnError `json:"error"`
		WillRetry  bool       `json:"willRetry"`
		TokenUsage struct {
			Last struct {
				InputTokens       int64 `json:"inputTokens"`
				CachedInputTokens int64 `json:"cachedInputTokens"`
				OutputTokens      int64 `json:"outputTokens"`
			} `json:"last"`
		} `json:"tokenUsage"`
		Turn struct {
			Status string     `json:"status"`
			Error  *turnError `json:"error"`
		} `json:"turn"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return false, nil //nolint:nilerr // parameters of another shape are not for us
	}
	switch m.Method {
	case "item/agentMessage/delta":
		if r.item != p.ItemID && r.shown {
			r.emit(backend.Event{Kind: backend.Reset})
		}
		r.item, r.shown = p.ItemID, true
		r.emit(backend.Event{Kind: backend.Text, Text: p.Delta})
	case "item/started":
		if p.Item.Type == "fileChange" {
			r.changes[p.Item.ID] = p.Item.Changes
		}
		r.started(p.Item.Type, p.Item.Tool)
	case "item/completed":
		if p.Item.Type == "agentMessage" && strings.TrimSpace(p.Item.Text) != "" {
			r.res.Text = strings.TrimSpace(p.Item.Text)
		}
	case "thread/tokenUsage/updated":
		l := p.TokenUsage.Last
		r.res.Iterations++
		r.res.Usage = r.res.Usage.Add(backend.Usage{Input: l.InputTokens - l.CachedInputTokens, CacheRead: l.CachedInputTokens, Output: l.OutputTokens})
	case "error":
		r.last = p.Error
		if p.WillRetry {
			r.emit(backend.Event{Kind: backend.Thinking, Detail: "Waiting for the model provider"})
		}
	case "turn/completed":
		if p.Turn.Error != nil {
			r.last = p.Turn.Error
		}
		if r.waits {
			r.res.Waiting, r.res.Text = true, ""
			return true, nil
		}
		if p.Turn.Status == "completed" {
			return true, nil
		}
		return true, r.failure()
	}
	return false, nil
}

func (r *run) started(kind, tool string) {
	var name string
	switch kind {
	case "commandExecution":
		name = "command_execution"
	case "fileChange":
		name = "file_change"
	case "webSearch":
		name = "web_search"
	case "mcpToolCall":
		name = "mcp__" + mcpserve.Name + "__" + tool
	case "reasoning":
		r.emit(backend.Event{Kind: backend.Thinking})
		return
	default:
		return
	}
	r.item = "" // text after a tool is another message
	if len(r.res.ToolUses) < 200 {
		r.res.ToolUses = append(r.res.ToolUses, name)
	}
	r.emit(backend.Event{Kind: backend.ToolCall, Tool: name, Detail: backend.Label(name)})
}

// failure gives the turn's error its own state.
func (r *run) failure() error {
	if r.last == nil {
		return backend.Errorf(backend.CodeModel, "Codex ended the turn without an answer.")
	}
	kind, status := r.last.kind()
	text := backend.Short(strings.TrimSpace(r.last.Message + " " + r.last.Details))
	switch {
	case kind == "unauthorized" || status == 401 || status == 403 || strings.Contains(text, "401 Unauthorized"):
		return backend.Errorf(backend.CodeAuth, "Codex is not signed in, or its credentials were refused. %s", text)
	case kind == "usageLimitExceeded" || kind == "rateLimitExceeded" || kind == "serverOverloaded" || kind == "flexUnavailable" ||
		status == 429 || status == 529 || strings.Contains(text, "429 Too Many Requests"):
		return backend.Errorf(backend.CodeRate, "Codex has reached a limit. %s", text)
	}
	return backend.Errorf(backend.CodeModel, "Codex failed. %s", text)
}

// kind reads codexErrorInfo: a word, or an object whose key is the word and
// whose value may carry the provider's HTTP status.
func (e *turnError) kind() (word string, status int) {
	if json.Unmarshal(e.Info, &word) == nil {
		return word, 0
	}
	var obj map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(e.Info, &obj) == nil {
		for k, v := range obj {
			return k, v.Status
		}
	}
	return fmt.Sprintf("unknown (%d bytes)", len(e.Info)), 0
}
