// Package hook is what a person's own Claude Code or Codex runs at the moments of a
// session: it reports the session to the server, shows what is typed and answered in
// its room, and brings messages from there into the session (contract 8). It needs
// no running bridge and no environment: the session names itself on standard input.
//
// A hook must never be in the way. It waits for the server at most Budget, says
// nothing when it fails, and after a failure leaves the server alone for a while.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Budget is how long a hook may take.
const Budget = 1800 * time.Millisecond

// maxInput bounds what a CLI hands to its hook.
const maxInput = 4 << 20

// The bounds of what is reported (contract 8.2) and of what is brought in at once.
const (
	maxText     = 10_000
	maxToolName = 60
	mostAtOnce  = 5
	mostTasks   = 5
	maxShown    = 8000 // characters of one message
)

// Credentials are the agent as which the session speaks.
type Credentials struct{ URL, AgentID, APIKey string }

// Options of one run.
type Options struct {
	Credentials
	Dir  string    // the agent's folder: token, sessions; private
	Host string    // name of this machine as people see it
	Self []string  // the command of the detached process, without its session
	In   io.Reader // what the CLI says (Claude Code)
	Arg  string    // what the CLI says (Codex)
	Out  io.Writer // what the CLI reads
}

// ReadAll is io.ReadAll until ctx ends: a host that leaves its end of the pipe open must not hold
// its person up. What still reads then ends with the program.
func ReadAll(ctx context.Context, from io.Reader) ([]byte, error) {
	type answer struct {
		raw []byte
		err error
	}
	done := make(chan answer, 1)
	go func() {
		raw, err := io.ReadAll(from)
		done <- answer{raw, err}
	}()
	select {
	case a := <-done:
		return a.raw, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run is one hook with its session.
type run struct {
	opt     Options
	client  *client
	tool    string
	session string
	cwd     string
}

func (r *run) event(ctx context.Context, kind string, more map[string]any) error {
	body := map[string]any{"sessionId": r.session, "event": kind, "tool": r.tool, "hostname": clip(r.opt.Host, 200), "cwd": clip(r.cwd, 1000), "eventId": uuid.NewString()}
	for k, v := range more {
		body[k] = v
	}
	return r.client.post(ctx, "/api/agents/me/sessions/events", body, nil)
}

// place is what a checkout says of itself.
func (r *run) place() map[string]any {
	branch, repo := checkout(r.cwd)
	m := map[string]any{}
	if branch != "" {
		m["branch"] = clip(branch, 200)
	}
	if repo != "" {
		m["repo"] = clip(repo, 200)
	}
	return m
}

// room makes sure that the session has its room. The server gives the room that
// there is.
func (r *run) room(ctx context.Context) error {
	body := r.place()
	body["agentId"], body["sessionKey"], body["tool"], body["cwd"], body["hostname"] = r.opt.AgentID, r.session, r.tool, clip(r.cwd, 1000), clip(r.opt.Host, 200)
	return r.client.post(ctx, "/api/conversations/session", body, nil)
}

// inbox is the answer of GET /api/agents/me/inbox.
type inbox struct {
	Unread []struct {
		Type     string `json:"type"`
		Title    string `json:"title"`
		Count    int    `json:"count"`
		OwnerDM  bool   `json:"ownerDm"`
		Messages []struct {
			SenderName string `json:"senderName"`
			SenderType string `json:"senderType"`
			Content    string `json:"content"`
		} `json:"messages"`
	} `json:"unread"`
	Tasks []struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Status string `json:"status"`
	} `json:"tasks"`
}

func (r *run) unread(ctx context.Context) (in inbox, err error) {
	err = r.client.get(ctx, fmt.Sprintf("/api/agents/me/inbox?claim=true&direct=true&limit=%d&sessionId=%s", mostAtOnce, escape(r.session)), &in)
	return in, err
}

// messages is the text for the model, "" when nobody has written. Each message says
// who wrote it and where: the model must be able to tell its owner from others.
func (in inbox) messages() string {
	var b strings.Builder
	for _, room := range in.Unread {
		if len(room.Messages) == 0 {
			continue
		}
		where := fmt.Sprintf("the room %q", room.Title)
		if room.OwnerDM {
			where = "a direct message of your owner"
		}
		if room.Type == "session" {
			where = "the room of this session"
		}
		for i := len(room.Messages) - 1; i >= 0; i-- { // oldest first
			m := room.Messages[i]
			text := m.Content
			if short := clip(text, maxShown); short != text {
				text = short + "\n(shortened here; the whole message is in agntchat)"
			}
			fmt.Fprintf(&b, "<agntchat-message from=%q sender=%q in=%q>\n%s\n</agntchat-message>\n", m.SenderName, m.SenderType, where, strings.ReplaceAll(text, "</agntchat-message", "<\\/agntchat-message"))
		}
		if rest := room.Count - len(room.Messages); rest > 0 {
			fmt.Fprintf(&b, "%d more wait in %s.\n", rest, where)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "New messages reached you through agntchat while you worked. Your answer is shown in the room of this session.\n" + b.String()
}

func (in inbox) tasks() string {
	var b strings.Builder
	for i, t := range in.Tasks {
		if i == mostTasks {
			break
		}
		fmt.Fprintf(&b, "- %s (%s, task %s)\n", clip(t.Title, 200), t.Status, t.ID)
	}
	if b.Len() == 0 {
		return ""
	}
	return "Tasks that wait for you in agntchat:\n" + b.String()
}

func (r *run) say(v any) error { return json.NewEncoder(r.opt.Out).Encode(v) }

// clip cuts to so many characters.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}

func text(s string) map[string]any {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return map[string]any{"text": clip(strings.ReplaceAll(s, "\x00", ""), maxText)}
}
