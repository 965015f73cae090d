package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/mcpserve"
)

var (
	errDied      = errors.New("the process ended before it answered")
	errNoSession = errors.New("the session does not exist any more")
)

// run is one exchange with the process: a user line in, lines out until its
// result.
type run struct {
	c         *conversation
	turn      backend.Turn
	emit      func(backend.Event)
	delivered bool // the session contains our line
	shown     bool // text is visible since the last reset
	model     string
	res       backend.Result
	retrying  time.Time
	lastRetry int
	died      error // what to report when the process died

	asker   *asker // answers for the CLI's own tools; nil without a gate
	calls   int    // tool calls in the model's present message
	resumes string // the approved call that the process is to run; empty otherwise
	gave    string // what that call gave
	ran     bool   // that call has a result

	echo bool      // the CLI has echoed our line
	told []telling // what was said meanwhile and it has not taken up yet
}

// begin has the process running, with somebody to answer its hooks from its first
// moment until done is called.
func (r *run) begin(ctx context.Context) (fresh bool, done func(), err error) {
	done = func() {}
	if gated(r.turn) {
		hooks, err := r.c.b.hookServer()
		if err != nil {
			return false, nil, err
		}
		r.asker = &asker{gate: r.turn.Gate}
		done = hooks.bind(r.c.key, r.asker)
	}
	if fresh, err = r.c.ensure(ctx, r.turn); err != nil {
		done()
		return false, nil, err
	}
	return fresh, done, nil
}

// play sends the text and follows the process until its result. After a
// cancel the process is asked to stop and kept, or killed if it does not. A process
// that is to run an approved call gets no text: it finds the call in its session.
func (r *run) play(ctx context.Context, text string) error {
	p := r.c.p
	sent := make(chan error, 1)
	if r.resumes == "" {
		go func() { sent <- p.Send(newUserLine(text)) }()
	} else {
		p.CloseInput()
	}
	quiet := time.NewTimer(r.c.b.opt.Silence)
	defer quiet.Stop()
	cancelled := ctx.Done()
	var giveUp <-chan time.Time
	ear, deaf := r.listen()
	defer deaf()
	for {
		select {
		case t := <-ear.in:
			r.tell(t)
		case err := <-sent:
			if err != nil {
				r.c.b.opt.Log.Debug("claude does not listen", slog.Any("error", err))
			}
			sent = nil
		case raw, ok := <-p.Lines():
			if !ok {
				return r.gone(ctx)
			}
			quiet.Reset(r.c.b.opt.Silence)
			done, err := r.line(raw)
			if err != nil {
				r.c.stop(0)
				return err
			}
			if done && len(r.told) > 0 && !r.res.Waiting && r.died == nil && ctx.Err() == nil {
				done = false // it goes on with what was said at the last moment
			}
			if done {
				r.wait()
				return r.finish(ctx)
			}
		case <-cancelled:
			cancelled = nil
			t := time.NewTimer(5 * time.Second)
			defer t.Stop()
			giveUp = t.C
			go func() { _ = p.Send(interrupt()) }()
		case <-giveUp:
			r.c.stop(0)
			return context.Cause(ctx)
		case <-quiet.C:
			r.c.stop(0)
			return backend.Errorf(backend.CodeTimeout, "Claude Code was silent for %s and was ended.", r.c.b.opt.Silence)
		}
	}
}

// gone handles a process that ended without a result.
func (r *run) gone(ctx context.Context) error {
	p := r.c.p
	r.c.stop(0)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	said := p.Stderr()
	switch {
	case strings.Contains(said, "No conversation found"):
		r.died = backend.Errorf(backend.CodeModel, "Claude Code lost the session of this conversation.")
		return errNoSession
	case p.Killed():
		r.died = backend.Errorf(backend.CodeKilled, "Claude Code was killed while it was answering.")
	default:
		r.died = backend.Errorf(backend.CodeModel, "Claude Code ended before it answered. %s", backend.Short(said))
	}
	return errDied
}

// wait notes that the session stopped for an approval, and ends its process.
func (r *run) wait() {
	if !r.res.Waiting {
		return
	}
	several := r.asker.refused() || r.calls > 1
	r.c.stop(5 * time.Second)
	r.c.setAside(several)
}

func (r *run) finish(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.died
}

// line takes one line of output; done is true for the turn's result. An error
// ends the process.
func (r *run) line(raw []byte) (done bool, err error) {
	var l line
	if json.Unmarshal(raw, &l) != nil {
		return false, nil //nolint:nilerr // a line that is no JSON is not for us
	}
	switch l.Type {
	case "system":
		return false, r.system(l)
	case "user":
		if l.IsReplay {
			r.echoed()
		}
		if text, ok := l.toolResult(r.resumes); ok && r.resumes != "" {
			r.gave, r.ran = text, true
		}
	case "stream_event":
		r.stream(l)
	case "control_request":
		answer := unsupported(l.RequestID)
		if l.Request.Subtype == "can_use_tool" {
			answer = deny(l.RequestID)
			r.c.b.opt.Log.Info("tool refused", "conversation_id", r.c.id, "tool", l.Request.ToolName)
		}
		if err := r.c.p.Send(answer); err != nil {
			return false, fmt.Errorf("answer claude: %w", err)
		}
	case "result":
		return true, r.result(l)
	}
	return false, nil
}

// heard notes that the session contains our line: the CLI has echoed it, or
// the model is answering it already.
func (r *run) heard() {
	if r.delivered {
		return
	}
	r.delivered = true
	last := ""
	if n := len(r.turn.Input); n > 0 {
		last = r.turn.Input[n-1].ID
	}
	r.c.seen(last)
}

func (r *run) system(l line) error {
	switch l.Subtype {
	case "init":
		if l.Model != "" {
			r.model = l.Model
		}
		for _, s := range l.MCPServers {
			if s.Name == mcpserve.Name && s.Status == "failed" {
				r.c.b.opt.Log.Warn("claude did not reach the platform tools", "conversation_id", r.c.id)
			}
		}
	case "api_retry":
		return r.retry(l)
	}
	return nil
}

// retry watches the CLI's own retries: it would go on for minutes, and with
// refused credentials as well.
func (r *run) retry(l line) error {
	if l.ErrorStatus == 401 || l.ErrorStatus == 403 {
		return backend.FromStatus("The provider of Claude Code", l.ErrorStatus, "Sign in again with `claude`, or replace the key.", time.Time{})
	}
	r.lastRetry = l.ErrorStatus
	if r.retrying.IsZero() {
		r.retrying = time.Now()
	}
	r.emit(backend.Event{Kind: backend.Thinking, Detail: "Waiting for the model provider"})
	if time.Since(r.retrying) >= r.c.b.opt.RetryLimit {
		return backend.FromStatus("The provider of Claude Code", l.ErrorStatus, "It did not recover in time.", time.Time{})
	}
	return nil
}

func (r *run) stream(l line) {
	if l.ParentID != "" {
		return
	}
	switch l.Event.Type {
	case "message_start":
		r.res.Iterations++
		r.calls = 0
		r.heard()
		r.retrying = time.Time{}
		if r.shown {
			r.shown = false
			r.emit(backend.Event{Kind: backend.Reset})
		}
	case "content_block_start":
		switch l.Event.ContentBlock.Type {
		case "thinking":
			r.emit(backend.Event{Kind: backend.Thinking})
		case "tool_use":
			r.calls++
			name := l.Event.ContentBlock.Name
			if len(r.res.ToolUses) < 200 {
				r.res.ToolUses = append(r.res.ToolUses, name)
			}
			r.emit(backend.Event{Kind: backend.ToolCall, Tool: name, Detail: backend.Label(name)})
		}
	case "content_block_delta":
		if l.Event.Delta.Type == "text_delta" && l.Event.Delta.Text != "" {
			r.shown = true
			r.emit(backend.Event{Kind: backend.Text, Text: l.Event.Delta.Text})
		}
	}
}

func (r *run) result(l line) error {
	r.res.Usage = r.res.Usage.Add(backend.Usage{
		Input: l.Usage.InputTokens, Output: l.Usage.OutputTokens,
		CacheWrite: l.Usage.CacheCreationTokens, CacheRead: l.Usage.CacheReadTokens,
	})
	if l.StopReason == "tool_deferred" && r.asker != nil {
		r.res.Waiting = true
		return nil
	}
	if !l.IsError {
		r.res.Text = strings.TrimSpace(r.res.Text + "\n\n" + strings.TrimSpace(l.Result))
		return nil
	}
	if strings.Contains(l.said(), "No conversation found") {
		r.died = backend.Errorf(backend.CodeModel, "Claude Code lost the session of this conversation.")
		return errNoSession
	}
	r.died = failure(l)
	return nil
}

var (
	statusInText = regexp.MustCompile(`\b(?:API Error:?|HTTP|status(?: code)?)[ :]*\(?(\d{3})\b`)
	epochInText  = regexp.MustCompile(`\|(\d{10})\b`)
)

// failure gives an error result its own state.
func failure(l line) error {
	said := l.said()
	text, low := backend.Short(said), strings.ToLower(said)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(low, w) {
				return true
			}
		}
		return false
	}
	status := l.APIStatus
	if m := statusInText.FindStringSubmatch(said); status == 0 && m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	switch {
	case status == 401 || status == 403 || has("invalid api key", "please run /login", "not logged in", "oauth token", "authentication"):
		return backend.Errorf(backend.CodeAuth, "Claude Code is not signed in, or its credentials were refused. %s", text)
	case status == 429 || status == 529 || has("rate limit", "usage limit", "hit your limit", "overloaded", "limit reached"):
		e := backend.Errorf(backend.CodeRate, "Claude Code has reached a limit. %s", text)
		if m := epochInText.FindStringSubmatch(said); m != nil {
			if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				e.ResetAt = time.Unix(n, 0)
			}
		}
		return e
	case l.Subtype == "error_max_turns":
		return backend.Errorf(backend.CodeModel, "Claude Code used all its steps before it had an answer.")
	case l.Subtype == "error_max_budget_usd":
		return backend.Errorf(backend.CodeRate, "Claude Code has used up its budget for this turn.")
	}
	if text == "" {
		text = l.Subtype
	}
	return backend.Errorf(backend.CodeModel, "Claude Code failed. %s", text)
}
