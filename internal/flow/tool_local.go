package flow

import (
	"context"
	"regexp"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/tool"
)

// localToolName is what a tool of a bridge's own may be called.
var localToolName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// NoteLocal records that a tool which runs beside the bridge, and not here, is about to
// put text of others before the model: the turn or task that call names is marked from
// then on, and its tools of high risk ask (K3). The bridge waits for it before it shows
// the text. Errors: Invalid for a name that is none or that is one of the server's own
// tools, Exhausted above sixty a minute, and those of a call's context.
func (t *Tools) NoteLocal(ctx context.Context, actor access.Actor, call ToolCall) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	if !localToolName.MatchString(call.Name) {
		return fault.New(fault.Invalid, "invalid_tool_name", "The tool's name has 1 to 64 small letters, digits, _ and -.")
	}
	if _, own := t.registry.Lookup(call.Name); own {
		return fault.Newf(fault.Invalid, "invalid_tool_name", "%s is a tool of the server.", call.Name)
	}
	if wait, ok := t.local.Take(actor.ID.String()); !ok {
		return fault.New(fault.Exhausted, "rate_limited", "Too many calls: try again in a moment.").After(wait)
	}
	start := time.Now()
	c, err := t.caller(ctx, actor, call)
	if err != nil {
		return err
	}
	return tool.Record(ctx, t.DB, tool.Call{
		AgentID: actor.ID, PersonID: c.Person.ID, ConversationID: c.Room, TaskID: c.Task, MessageID: c.SourceMessage,
		Tool: call.Name, Outcome: tool.Done, ArgsHash: []byte{}, Untrusted: true, Took: time.Since(start),
	})
}
