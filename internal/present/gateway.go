package present

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// MaxDelivery is the size in bytes under which a gateway_message is kept: a bridge
// closes its socket at 1 MiB (bridge contract 2.1).
const MaxDelivery = 900 << 10

// Executor answers a registration.
func Executor(e executor.Executor, leaseSeconds int) wire.Executor {
	return wire.Executor{
		ID: e.ID.String(), AgentID: e.AgentID.String(), ExecutorKey: e.Key, DisplayName: e.DisplayName, Status: e.Status,
		MaxConcurrent: e.MaxConcurrent, InstanceID: e.InstanceID, LeaseSeconds: leaseSeconds,
	}
}

// Command is a control directive (bridge contract 2.11).
func Command(c flow.Command) wire.Command {
	out := wire.Command{Type: c.Type, Reason: c.Reason}
	if !c.ConversationID.IsZero() {
		out.ConversationID = new(c.ConversationID.String())
	}
	if !c.TaskID.IsZero() {
		out.TaskID = new(c.TaskID.String())
	}
	return out
}

// HeartbeatAnswer is the answer of a heartbeat.
func HeartbeatAnswer(a flow.BeatAnswer) wire.HeartbeatAnswer {
	out := wire.HeartbeatAnswer{Status: "ok", Commands: []wire.Command{}, Lost: a.Lost}
	for _, c := range a.Commands {
		out.Commands = append(out.Commands, Command(c))
	}
	return out
}

// GatewayMessage is one claimed turn (bridge contract 2.7; docs/protocol.md 2).
func GatewayMessage(d flow.Delivery) wire.GatewayMessage {
	m := d.Message
	out := wire.GatewayMessage{
		ID: d.Claim.QueueID.String(), MessageID: m.ID.String(), ConversationID: m.ConversationID.String(), Content: m.Content,
		ContentType: m.ContentType, MessageType: m.MessageType, ContentStructured: orNull(m.ContentStructured),
		SenderName: new(senderName(m)), SenderType: new(m.SenderKind), Metadata: object(m.Metadata),
		ConversationType: d.Room.Type, ConversationTitle: d.Room.Title, ConversationMembers: make([]wire.GatewayMember, len(d.Room.Members)),
		ConversationMemory: orNull(d.Memory), ContextBrief: orNull(nil), TurnContext: orNull(nil), MessageTriage: orNull(nil), TurnOverride: orNull(nil),
		Directives: Directives(d.Directives), RecentMessages: Messages(d.Recent),
	}
	switch {
	case len(m.Attachments) > 0:
		out.ReadableText = forModel(m)
	case m.ContentType != "text" || m.MessageType != nil: // what a person wrote is read as it is
		out.ReadableText = ReadableText(m)
	}
	if !m.SenderID.IsZero() {
		out.SenderID = new(m.SenderID.String())
	}
	if !d.ActiveTask.IsZero() {
		out.ActiveTaskID = new(d.ActiveTask.String())
	}
	if !d.LatestSeen.IsZero() {
		out.LatestSeenMessageID = new(d.LatestSeen.String())
	}
	for n, s := range d.Room.Members {
		out.ConversationMembers[n] = wire.GatewayMember{ParticipantID: s.ParticipantID.String(), DisplayName: s.DisplayName, Type: s.Kind}
	}
	if d.Ours {
		out.Generation, out.LeaseSeconds = d.Claim.Generation, int(d.Lease/time.Second)
		out.Merged = merged(d.Merged)
	}
	return out
}

func merged(items []flow.MergedItem) []wire.MergedMessage {
	out := make([]wire.MergedMessage, len(items))
	for n, i := range items {
		m := i.Message
		out[n] = wire.MergedMessage{
			ID: i.QueueID.String(), MessageID: m.ID.String(), Content: m.Content, SenderName: senderName(m), SenderType: m.SenderKind, InsertedAt: wire.At(m.InsertedAt),
		}
		if len(m.Attachments) > 0 {
			out[n].Content = forModel(m)
		}
		if !m.SenderID.IsZero() {
			out[n].SenderID = new(m.SenderID.String())
		}
	}
	return out
}

// Directives is what an agent is told (bridge contract 4.6).
func Directives(d directive.Directives) wire.Directives {
	out := wire.Directives{
		PromptDirectives: d.Prompt, VolatileContext: d.Volatile, HumanExpectsReply: d.HumanExpectsReply, TaskCreationAllowed: false,
		IsOrchestrator: d.Orchestrator, AgentType: d.AgentType, FamilyAgents: make([]wire.GatewayMember, len(d.Family)), StableHash: d.Hash,
		ToolAllowlist: d.Tools, PromptSources: make([]string, len(d.Sources)),
		BehavioralConfig: wire.BehavioralConfig{
			ErrorMessages: d.ErrorMessages, DMRedirectTemplate: d.DMRedirect, TaskSuffix: d.TaskSuffix, DangerouslySkipPermissions: d.SkipPermissions,
			PromptCache: &wire.PromptCache{AnthropicTTL: d.Cache.AnthropicTTL, HistoryWindowTTLSeconds: d.Cache.Window.Seconds()},
		},
	}
	for n, k := range d.Family {
		out.FamilyAgents[n] = wire.GatewayMember{ParticipantID: k.ID.String(), DisplayName: k.Name, Type: chat.Agent}
	}
	for n, s := range d.Sources {
		out.PromptSources[n] = string(s)
	}
	return out
}

// ErrTooLarge is the answer of FitDelivery when even the directives do not fit.
var ErrTooLarge = errors.New("present: a delivery does not fit into a frame")

// FitDelivery encodes a gateway_message in at most most bytes: the oldest of the
// recent messages go first, then the text of merged ones is cut, then that of the
// trigger itself, which says so. It fails when the directives alone are too large.
func FitDelivery(m wire.GatewayMessage, most int) (json.RawMessage, error) {
	raw, err := json.Marshal(m)
	if err != nil || len(raw) <= most {
		return raw, wrapDelivery(err)
	}
	for over := len(raw) - most; over > 0 && len(m.RecentMessages) > 0; m.RecentMessages = m.RecentMessages[1:] {
		one, err := json.Marshal(m.RecentMessages[0])
		if err != nil {
			return nil, wrapDelivery(err)
		}
		over -= len(one) + 1
	}
	const short = 2000
	for limit := short; ; limit /= 4 {
		if raw, err = json.Marshal(m); err != nil || len(raw) <= most {
			return raw, wrapDelivery(err)
		}
		if limit < 100 {
			break
		}
		m.Merged = append([]wire.MergedMessage(nil), m.Merged...)
		for n := range m.Merged {
			m.Merged[n].Content = cut(m.Merged[n].Content, limit)
		}
	}
	m.ContentStructured, m.Metadata = orNull(nil), object(nil)
	for limit := len(m.Content); limit > 1000; limit /= 2 {
		if raw, err = json.Marshal(m); err != nil || len(raw) <= most {
			return raw, wrapDelivery(err)
		}
		m.Content = cut(m.Content, limit/2) + "\n[cut: the message is too long to deliver whole; read it with get_messages]"
	}
	if raw, err = json.Marshal(m); err == nil && len(raw) > most {
		err = ErrTooLarge
	}
	return raw, wrapDelivery(err)
}

func wrapDelivery(err error) error {
	if err != nil {
		return fmt.Errorf("encode delivery: %w", err)
	}
	return nil
}

// Receipt is what became of a message with one agent.
func Receipt(r view.Receipt) wire.Receipt {
	return wire.Receipt{
		MessageID: r.MessageID.String(), AgentID: r.AgentID.String(), AgentName: r.AgentName, State: r.State, ErrorCode: r.ErrorCode,
		AnswerID: idOrNil(r.AnswerID), MergedInto: idOrNil(r.MergedInto), At: wire.At(r.At),
	}
}

// Receipts lists them.
func Receipts(rs []view.Receipt) wire.Receipts {
	out := wire.Receipts{Receipts: make([]wire.Receipt, len(rs))}
	for n, r := range rs {
		out.Receipts[n] = Receipt(r)
	}
	return out
}

func idOrNil(m id.Message) *string {
	if m.IsZero() {
		return nil
	}
	return new(m.String())
}
