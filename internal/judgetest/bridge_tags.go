package judgetest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// extracted is a model's text without the tags the bridge handles itself
// (bridge 5.7). memory, family_memory and msg tags stay for the server.
type extracted struct {
	text   string
	cards  []map[string]any
	tasks  []map[string]any
	dms    []dmBlock
	routed bool // there were dm blocks: an empty rest is no empty answer
}

type dmBlock struct {
	targets     []string
	topic, goal string
	body        string
}

var (
	cardTag = regexp.MustCompile(`(?s)<result_presentation>(.*?)</result_presentation>`)
	taskTag = regexp.MustCompile(`(?s)<task_request>(.*?)</task_request>`)
	dmTag   = regexp.MustCompile(`(?s)<dm ([^>]*)>(.*?)</dm>`)
	attr    = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

func (b *Bridge) extract(t *Turn, text string) extracted {
	var out extracted
	out.cards, text = jsonBlocks(cardTag, text, "result_type")
	out.tasks, text = jsonBlocks(taskTag, text, "title")
	if t.directives()["taskCreationAllowed"] == false {
		out.tasks = nil
	}
	for _, m := range dmTag.FindAllStringSubmatch(text, -1) {
		block := dmBlock{body: strings.TrimSpace(m[2])}
		for _, a := range attr.FindAllStringSubmatch(m[1], -1) {
			switch a[1] {
			case "target":
				for name := range strings.SplitSeq(a[2], ",") {
					block.targets = append(block.targets, strings.TrimSpace(name))
				}
			case "topic":
				block.topic = a[2]
			case "goal":
				block.goal = a[2]
			}
		}
		out.dms = append(out.dms, block)
	}
	out.text, out.routed = dmTag.ReplaceAllString(text, ""), len(out.dms) > 0
	return out
}

func jsonBlocks(tag *regexp.Regexp, text, need string) ([]map[string]any, string) {
	var out []map[string]any
	for _, m := range tag.FindAllStringSubmatch(text, -1) {
		var v map[string]any
		if json.Unmarshal([]byte(m[1]), &v) == nil && v[need] != nil {
			out = append(out, v)
		}
	}
	return out, tag.ReplaceAllString(text, "")
}

// routeDMs is step 10 of bridge 2.7: every target of a block must resolve among
// the members, then the family agents; one DM or huddle and one post per block;
// with nothing left to say in the room, a hidden EndTurn.
func (b *Bridge) routeDMs(t *Turn, e extracted, rest string) {
	names := map[string]string{}
	for _, key := range []any{t.directives()["familyAgents"], t.Raw["conversationMembers"]} {
		list, _ := key.([]any)
		for _, entry := range list {
			m, _ := entry.(map[string]any)
			names[strings.ToLower(str(m, "displayName"))] = str(m, "participantId")
		}
	}
	routed := 0
	for _, block := range e.dms {
		var ids []string
		for _, name := range block.targets {
			if id := names[strings.ToLower(name)]; id != "" {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 || len(ids) != len(block.targets) {
			continue
		}
		body := map[string]any{"sourceConversationId": t.ConversationID, "sourceMessageId": t.MessageID, "huddleTopic": block.topic, "huddleGoal": block.goal}
		if len(ids) == 1 {
			body["peerId"] = ids[0]
		} else {
			body["peerIds"] = ids
		}
		a, err := b.callREST(b.run, call{method: "POST", path: "/api/conversations/dm", body: body})
		if err != nil || !a.OK() || a.Str("id") == "" {
			continue
		}
		if p, err := b.post(b.run, a.Str("id"), map[string]any{"content": block.body, "contentType": "text", "metadata": map[string]any{}}); err == nil && p.OK() {
			routed++
		}
	}
	if routed == 0 || rest != "" {
		return
	}
	hidden, _ := json.Marshal(map[string]any{"reason": "huddle_redirect", "message": "answered in a side conversation"})
	a, err := b.post(b.run, t.ConversationID, map[string]any{
		"content": string(hidden), "contentType": "structured", "messageType": "EndTurn",
		"metadata": map[string]any{"huddle_redirect_ack_hidden": true},
	})
	if err == nil && !a.OK() {
		b.led.Break("bridge", "bridge 5.6", "hidden EndTurn answered %d", a.Status)
	}
}

// afterReply is step 12: one message per result card, then the task requests.
func (b *Bridge) afterReply(t *Turn, e extracted) {
	for _, card := range e.cards {
		a, err := b.post(b.run, t.ConversationID, map[string]any{
			"content": "[Results] " + str(card, "title"), "contentType": "structured", "messageType": "ResultPresentation",
			"contentStructured": map[string]any{"schema_version": "2.0", "type": "ResultPresentation", "data": card},
		})
		if err == nil && !a.OK() && b.run.Err() == nil {
			b.led.Break("bridge", "bridge 4.12", "result card answered %d", a.Status)
		}
	}
	if len(e.tasks) > 0 {
		// Errors are logged by the bridge; the endpoint belongs to a later issue.
		_, _ = b.callREST(b.run, call{method: "POST", path: "/api/gateway/task-requests", body: map[string]any{
			"conversation_id": t.ConversationID, "task_requests": e.tasks, "trigger_message_id": t.MessageID,
		}})
	}
}
