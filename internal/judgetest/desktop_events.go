package judgetest

import (
	"maps"
	"strings"
)

// userShapes and roomShapes give the declared payload of the events that this
// judge decodes; others are logged and left alone.
var userShapes = map[string]string{
	"presence_snapshot": "PresenceSnapshot", "agent_status_changed": "AgentStatusChanged", "agent_activity_changed": "AgentActivityChanged",
	"human_status_changed": "HumanStatusChanged", "agent_updated": "AgentUpdated", "conversation_updated": "ConversationUpdated",
	"new_conversation": "NewConversation", "conversation_deleted": "ConversationEvent", "removed_from_conversation": "ConversationEvent",
	"conversation_title_changed": "TitleChangedUser", "conversation_read": "ConversationEvent", "typing_indicator": "TypingUser",
	"task_created": "TaskEvent", "task_updated": "TaskEvent", "task_assigned": "TaskEvent", "task_completed": "TaskEvent", "task_progress": "TaskProgress",
	"permission_request": "PermissionRequest",
}

var roomShapes = map[string]string{
	"recent_messages": "RecentMessages", "new_message": "Message", "message_deleted": "MessageDeleted", "message_metadata_changed": "MetadataChanged",
	"message_streaming": "Streaming", "task_progress": "TaskProgress", "typing_indicator": "Typing", "conversation_title_changed": "TitleChanged",
}

// event is the socket service: it runs in the reader and only touches the store.
func (d *Desktop) event(f frame) {
	kind, id, _ := strings.Cut(f.Topic, ":")
	p := f.object()
	switch kind {
	case "user":
		if shape := userShapes[f.Event]; shape != "" {
			d.led.check(d.opt.Name, "desktop 3.5", f.Event, shape, f.Payload)
		}
	case "conversation":
		if shape := roomShapes[f.Event]; shape != "" {
			d.led.check(d.opt.Name, "desktop 3.4", f.Event, shape, f.Payload)
		}
	default:
		d.led.Break(d.opt.Name, "desktop 3.2", "%s on topic %s, which does not exist for the client", f.Event, topicKind(f.Topic))
	}
	if strings.HasPrefix(f.Event, "gateway_") {
		d.led.Break(d.opt.Name, "bridge 2.6", "%s reached a person's socket", f.Event)
	}
	d.change(func() {
		d.log = append(d.log, f)
		if kind == "user" {
			d.userEvent(f.Event, p)
		} else {
			d.roomEvent(id, f.Event, p)
		}
	})
}

func (d *Desktop) userEvent(event string, p map[string]any) {
	conv := str(p, "conversationId")
	switch event {
	case "presence_snapshot":
		d.snapshots++
		d.presence, d.online = map[string]string{}, map[string]bool{}
		agents, _ := p["agentPresences"].(map[string]any)
		for id, v := range agents {
			d.presence[id], _ = v.(string)
		}
		for _, id := range stringsOf(p["onlineParticipantIds"]) {
			d.online[id] = true
		}
	case "agent_status_changed":
		d.presence[str(p, "agentId")] = str(p, "presence")
	case "agent_activity_changed":
		d.activity[str(p, "agentId")] = str(p, "activity")
	case "human_status_changed":
		d.online[str(p, "participantId")] = p["online"] == true
	case "conversation_updated":
		last, _ := p["lastMessage"].(map[string]any)
		if d.rooms[conv] == nil && d.listed && !d.gone[conv] && !d.hidden[conv] {
			d.led.Break(d.opt.Name, "desktop 9.4", "conversation_updated for a conversation never announced by new_conversation: it is ignored")
		}
		if last["threadOnly"] != true && d.rooms[conv] != nil {
			row := maps.Clone(d.rooms[conv])
			row["lastMessage"] = last
			d.rooms[conv] = row
		}
		d.bump(conv, last)
	case "new_conversation":
		row, _ := p["conversation"].(map[string]any)
		org := str(row, "organizationId")
		if org != "" && org != str(d.me, "activeOrganizationId") {
			return
		}
		if str(row, "type") == "task" {
			d.hidden[str(row, "id")] = true // announced, but ignored
		} else {
			d.rooms[str(row, "id")] = row
			d.announced[str(row, "id")] = row
			delete(d.gone, str(row, "id"))
		}
	case "conversation_deleted", "removed_from_conversation":
		d.dropRoom(conv)
	case "conversation_title_changed":
		d.retitle(conv, p)
	case "conversation_read":
		d.clearUnread(conv)
	case "typing_indicator":
		d.setTyping(conv, p)
	}
}

func (d *Desktop) roomEvent(conv, event string, p map[string]any) {
	switch event {
	case "recent_messages":
		d.recents[conv]++
		d.window(conv, listOf(p, "messages"))
	case "new_message":
		if str(p, "senderId") != "" && p["sender"] == nil {
			d.led.Break(d.opt.Name, "desktop 5.2", "new_message without sender: its rendering cannot be chosen")
		}
		d.upsert(conv, p)
		d.landed(conv, p)
		if d.open == conv && str(p, "senderId") != d.ID {
			d.markReadSoon(conv)
		}
	case "message_deleted":
		d.remove(conv, str(p, "messageId"))
	case "message_metadata_changed":
		d.remeta(conv, p)
	case "message_streaming":
		d.reduceStream(conv, p)
	case "typing_indicator":
		d.setTyping(conv, p)
	case "removed_from_conversation":
		d.dropRoom(conv)
	case "conversation_title_changed":
		d.retitle(conv, p)
	case "presence_diff":
		leaves, _ := p["leaves"].(map[string]any)
		for id := range leaves {
			delete(d.online, id)
		}
	}
}

// remeta replaces the metadata of a row; the payload has to be the complete map
// (desktop 9.5), so no key the client relies on may vanish.
func (d *Desktop) remeta(conv string, p map[string]any) {
	meta, _ := p["metadata"].(map[string]any)
	for i, m := range d.timeline[conv] {
		if str(m, "id") != str(p, "messageId") {
			continue
		}
		old, _ := m["metadata"].(map[string]any)
		for _, key := range []string{"client_nonce", "stream_id", "mentions", "model"} {
			if old[key] != nil && meta[key] == nil {
				d.led.Break(d.opt.Name, "desktop 9.5", "message_metadata_changed lost the key %s", key)
			}
		}
		row := maps.Clone(m)
		row["metadata"] = meta
		d.timeline[conv][i] = row
	}
}

func (d *Desktop) dropRoom(conv string) {
	delete(d.rooms, conv)
	delete(d.announced, conv)
	delete(d.timeline, conv)
	d.clearUnread(conv)
	d.gone[conv] = true
	if d.open == conv {
		d.open = ""
	}
}

func (d *Desktop) retitle(conv string, p map[string]any) {
	if row := d.rooms[conv]; row != nil {
		row = maps.Clone(row)
		row["title"] = p["title"]
		d.rooms[conv] = row
	}
}

func (d *Desktop) setTyping(conv string, p map[string]any) {
	if d.typing[conv] == nil {
		d.typing[conv] = map[string]bool{}
	}
	if p["isTyping"] == true {
		d.typing[conv][str(p, "participantId")] = true
	} else {
		delete(d.typing[conv], str(p, "participantId"))
	}
}
