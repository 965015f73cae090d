package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/mcpserve"
	"github.com/agntchat/agntchat/internal/bridge/proc"
	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// cli names this backend's sessions on disk.
const cli = "claude"

// toolPatience is how long a starting CLI may take to read the tools. It does so
// in the first second unless the machine is very busy.
const toolPatience = 20 * time.Second

// conversation is one CLI process and the session it continues.
type conversation struct {
	b   *Backend
	id  string
	key string // path segment of its tools

	live atomic.Pointer[proc.Process] // the same as p, for end
	ear  atomic.Pointer[ear]          // of the exchange that runs; nil between them

	turn    sync.Mutex // held while a turn runs; guards all below
	p       *proc.Process
	print   string // what the process was started with
	session workdir.Session
	timer   *time.Timer
	used    time.Time
}

func (b *Backend) conversation(id string) (*conversation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, backend.Errorf(backend.CodeException, "The bridge is stopping.")
	}
	c := b.convs[id]
	if c == nil {
		c = &conversation{b: b, id: id, key: uuid.NewSHA1(uuid.NameSpaceURL, []byte(id)).String()}
		c.session, _ = b.opt.Dir.LoadSession(cli, id)
		b.convs[id] = c
	}
	return c, nil
}

// end stops the process of the conversation; a running turn then fails.
func (c *conversation) end() {
	if p := c.live.Load(); p != nil {
		p.Kill()
	}
	c.turn.Lock()
	defer c.turn.Unlock()
	c.stop(0)
}

// End implements backend.Ender.
func (b *Backend) End(conversationID string) {
	b.mu.Lock()
	c := b.convs[conversationID]
	delete(b.convs, conversationID)
	b.mu.Unlock()
	if c != nil {
		c.end()
	}
	b.opt.Dir.DropSession(cli, conversationID)
}

func (c *conversation) stop(grace time.Duration) {
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.p != nil {
		c.p.Stop(grace)
		c.p = nil
		c.live.Store(nil)
	}
}

// rest lets the process live on for a while after a turn.
func (c *conversation) rest() {
	if c.p == nil {
		return
	}
	p := c.p
	c.used = time.Now()
	c.timer = time.AfterFunc(c.b.opt.Idle, func() {
		c.turn.Lock()
		defer c.turn.Unlock()
		if c.p == p {
			c.stop(5 * time.Second)
		}
	})
}

// trim ends the longest unused processes beyond the number that may wait for
// another question: each takes a few hundred megabytes.
func (b *Backend) trim() {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.convs))
	b.mu.Unlock()
	var idle []*conversation
	for _, c := range all {
		if c.live.Load() == nil || !c.turn.TryLock() {
			continue
		}
		if c.p != nil {
			idle = append(idle, c)
			continue
		}
		c.turn.Unlock()
	}
	slices.SortFunc(idle, func(x, y *conversation) int { return y.used.Compare(x.used) })
	for i, c := range idle {
		if i >= b.opt.MaxIdle {
			c.stop(5 * time.Second)
		}
		c.turn.Unlock()
	}
}

// ensure has a process running that fits the turn, resuming the session if
// there is one. fresh says that the session has seen nothing yet.
func (c *conversation) ensure(ctx context.Context, t backend.Turn) (fresh bool, err error) {
	print := strings.Join([]string{t.System, t.Model, t.Effort, fmt.Sprint(t.SkipPerms, t.Toolbox != nil, gated(t))}, "\x00")
	if c.p != nil && c.print == print {
		return !c.session.Started, nil
	}
	c.stop(2 * time.Second)
	args, err := c.args(t)
	if err != nil {
		return false, err
	}
	opt := c.b.opt
	read := make(<-chan struct{})
	if t.Toolbox != nil {
		tools, err := c.b.toolServer()
		if err != nil {
			return false, err
		}
		read = tools.Read(c.key)
	}
	p, err := proc.Start(proc.Spec{Path: opt.Path, Args: args, Env: c.b.env(), Dir: opt.Dir.Work()})
	if err != nil {
		return false, &backend.Error{Code: backend.CodeMissing, Message: "Claude Code could not be started.", Cause: err}
	}
	c.p, c.print = p, print
	c.live.Store(p)
	opt.Log.Info("claude started", "conversation_id", c.id, "pid", p.Pid(), "resumed", c.session.Started)
	if t.Toolbox != nil {
		c.await(ctx, read)
	}
	return !c.session.Started, nil
}

// await gives the CLI a moment to find the platform tools: it would answer its
// first question without them otherwise.
func (c *conversation) await(ctx context.Context, read <-chan struct{}) {
	t := time.NewTimer(toolPatience)
	defer t.Stop()
	select {
	case <-read:
	case <-c.p.Done():
	case <-ctx.Done():
	case <-t.C:
		c.b.opt.Log.Warn("claude did not read the platform tools yet", "conversation_id", c.id)
	}
}

func (c *conversation) args(t backend.Turn) ([]string, error) {
	opt := c.b.opt
	servers := map[string]any{}
	if t.Toolbox != nil {
		tools, err := c.b.toolServer()
		if err != nil {
			return nil, err
		}
		servers[mcpserve.Name] = map[string]any{
			"type": "http", "url": tools.URL(c.key), "headers": map[string]string{"Authorization": "Bearer " + tools.Token()},
		}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return nil, fmt.Errorf("write tool configuration: %w", err)
	}
	mcp, err := opt.Dir.Private("claude-mcp-"+c.id, ".json", raw)
	if err != nil {
		return nil, err
	}
	system, err := opt.Dir.Private("claude-system-"+c.id, ".txt", []byte(t.System))
	if err != nil {
		return nil, err
	}
	settings := `{"workflowKeywordTriggerEnabled":false}`
	if gated(t) {
		hooks, err := c.b.hookServer()
		if err != nil {
			return nil, err
		}
		raw, err := hooks.settings(c.key)
		if err != nil {
			return nil, fmt.Errorf("write hook configuration: %w", err)
		}
		if settings, err = opt.Dir.Private("claude-settings-"+c.id, ".json", raw); err != nil {
			return nil, err
		}
	}
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--replay-user-messages", "--include-partial-messages", "--strict-mcp-config", "--mcp-config", mcp,
		// The user's own settings may allow tools to everybody; an agent starts from nothing.
		"--setting-sources", "", "--settings", settings,
		"--tools", "Bash,Read,Edit,Write,Glob,Grep,WebFetch,WebSearch,ToolSearch",
		"--allowedTools", "mcp__" + mcpserve.Name,
	}
	if t.System != "" {
		args = append(args, "--system-prompt-file", system)
	}
	if t.SkipPerms {
		args = append(args, "--dangerously-skip-permissions")
	} else {
		args = append(args, "--permission-prompt-tool", "stdio")
	}
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	if t.Effort != "" {
		args = append(args, "--effort", t.Effort)
	}
	if c.session.Started {
		return append(args, "--resume", c.session.ID), nil
	}
	c.session = workdir.Session{ID: uuid.NewString()}
	return append(args, "--session-id", c.session.ID), nil
}

// gated says that the CLI's own tools are asked about.
func gated(t backend.Turn) bool { return t.Gate != nil && !t.SkipPerms }

// forget starts the conversation's session anew with the next process.
func (c *conversation) forget() {
	c.stop(0)
	c.session = workdir.Session{}
	c.b.opt.Dir.DropSession(cli, c.id)
}

// seen notes that the session contains everything up to the given message.
func (c *conversation) seen(messageID string) {
	c.session.Started = true
	if messageID != "" {
		c.session.LastMessage = messageID
		c.session.Behind = false
	}
	c.save()
}

// setAside keeps the session for the approval that it waits for. Turns that come
// meanwhile have a session of their own.
func (c *conversation) setAside(several bool) {
	c.session.Several = several
	if err := c.b.opt.Dir.SaveSession(waiting(c.session.ID), c.id, c.session); err != nil {
		c.b.opt.Log.Warn("session not saved", "conversation_id", c.id, "error", err)
	}
	c.session = workdir.Session{}
	c.b.opt.Dir.DropSession(cli, c.id)
}

// takeUp makes a session that waited the conversation's own again. It has the most
// of the conversation; what was said since, it reads with its next turn.
func (c *conversation) takeUp(runID string) {
	c.stop(2 * time.Second)
	other := c.session.ID != "" && c.session.ID != runID
	if s, ok := c.b.opt.Dir.LoadSession(waiting(runID), c.id); ok {
		c.session = s
	} else if c.session.ID != runID {
		c.session = workdir.Session{ID: runID, Started: true}
	}
	c.session.Behind = c.session.Behind || other
	c.save()
}

// waiting names a session on disk that waits for an approval.
func waiting(runID string) string { return cli + "-waiting-" + runID }

func (c *conversation) save() {
	if err := c.b.opt.Dir.SaveSession(cli, c.id, c.session); err != nil {
		c.b.opt.Log.Warn("session not saved", "conversation_id", c.id, "error", err)
	}
}

// prompt is what the process is told: the whole history in a new session, else
// what happened since it last listened.
func (c *conversation) prompt(t backend.Turn, fresh bool) string {
	missed := t.History
	if !fresh {
		if since, known := t.Since(c.session.LastMessage); known {
			missed = nil
			for _, m := range since {
				if !m.Assistant || c.session.Behind {
					missed = append(missed, m)
				}
			}
		} else if n := len(t.Input); n > 0 && c.session.LastMessage == t.Input[n-1].ID {
			missed = nil
		}
	}
	if len(missed) == 0 {
		return t.LastInput()
	}
	return "<conversation_so_far>\n" + backend.Transcript(missed, "the agent") + "\n</conversation_so_far>\n\n" + t.LastInput()
}

// Run answers one turn. A process that dies under way is started once more and
// its session resumed.
func (b *Backend) Run(ctx context.Context, t backend.Turn, emit func(backend.Event)) (backend.Result, error) {
	return b.locked(t, func(c *conversation) (backend.Result, error) {
		return c.converse(ctx, t, emit, func(fresh, delivered bool) string {
			if delivered {
				// A killed process may not have written the message to its session yet.
				return "(Your process was interrupted while you were answering the message below. Answer it now, completely.)\n\n" + t.LastInput()
			}
			return c.prompt(t, fresh)
		})
	})
}

// locked runs one exchange of a conversation.
func (b *Backend) locked(t backend.Turn, do func(*conversation) (backend.Result, error)) (backend.Result, error) {
	c, err := b.conversation(t.ConversationID)
	if err != nil {
		return backend.Result{}, err
	}
	defer b.trim()
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	defer c.rest()
	if t.Toolbox != nil {
		tools, err := b.toolServer()
		if err != nil {
			return backend.Result{}, err
		}
		defer tools.Bind(c.key, t.Toolbox)()
	}
	return do(c)
}

// converse plays a turn, once more when the process died. text is what the process
// is told; delivered says that an earlier one was told already.
func (c *conversation) converse(ctx context.Context, t backend.Turn, emit func(backend.Event), text func(fresh, delivered bool) string) (backend.Result, error) {
	delivered := false
	for attempt := 0; ; attempt++ {
		emit(backend.Event{Kind: backend.Thinking})
		r := &run{c: c, turn: t, emit: emit, model: t.Model}
		fresh, done, err := r.begin(ctx)
		if err != nil {
			return backend.Result{}, err
		}
		err = r.play(ctx, text(fresh, delivered))
		done()
		delivered = delivered || r.delivered
		r.res.Model = r.model
		switch {
		case err == nil:
			return r.res, nil
		case ctx.Err() != nil:
			return r.res, context.Cause(ctx)
		case errors.Is(err, errNoSession) && attempt == 0:
			c.forget()
			delivered = false
		case errors.Is(err, errDied) && attempt == 0:
			c.b.opt.Log.Warn("claude ended in the middle of a turn, resuming", "conversation_id", c.id)
		case errors.Is(err, errDied) || errors.Is(err, errNoSession):
			return r.res, r.died
		default:
			return r.res, err
		}
		emit(backend.Event{Kind: backend.Reset})
	}
}
