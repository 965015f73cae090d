package app_test

import (
	"encoding/json"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
)

// TestW3_WhatIsLeftOfADeletedAccount: its person and its agents are out at once,
// sockets too; those who shared rooms with them can go on, run their rooms, and see by
// name who did not answer.
func TestW3_WhatIsLeftOfADeletedAccount(t *testing.T) {
	t.Parallel()
	x := &terminal{Server: apptest.New(t), t: t}
	ada, adaToken := x.person("Ada")
	ben, benToken := x.person("Ben")
	agent := x.call(adaToken, "POST", "/agents", map[string]any{"displayName": "Nova"}, 201)
	nova, key := agent["id"].(string), agent["apiKey"].(string)
	novaToken := x.call("", "POST", "/auth/agent-token", map[string]any{"agent_id": nova, "api_key": key}, 200)["token"].(string)
	group := x.call(adaToken, "POST", "/conversations", map[string]any{"type": "group", "title": "Plans", "memberIds": []string{ben, nova}}, 201)["id"].(string)
	direct := x.call(adaToken, "POST", "/conversations", map[string]any{"type": "direct", "memberIds": []string{ben}}, 201)["id"].(string)
	asked := x.call(benToken, "POST", "/conversations/"+group+"/messages", map[string]any{"content": "@Nova are you there?"}, 201)["id"].(string)
	x.call(adaToken, "POST", "/conversations/"+direct+"/messages", map[string]any{"content": "keep this"}, 201)

	sockets := []*phxtest.Client{phxtest.Dial(t, x.URL, phxtest.Options{Token: adaToken}), phxtest.Dial(t, x.URL, phxtest.Options{Token: novaToken})}
	sockets[0].Join("user:"+ada, map[string]any{})
	sockets[1].Join("user:"+nova, map[string]any{})
	bens := phxtest.Dial(t, x.URL, phxtest.Options{Token: benToken}).Join("conversation:"+group, map[string]any{})
	x.call(adaToken, "DELETE", "/me", map[string]any{"confirm": "DELETE"}, 204)
	for _, s := range sockets {
		if code, reason := s.Closed(); code != 1008 {
			t.Errorf("a socket of the account was closed with %d %s", code, reason)
		}
	}
	for _, token := range []string{adaToken, novaToken} {
		x.call(token, "GET", "/me", nil, 401)
		if _, status, err := phxtest.TryDial(t, x.URL, phxtest.Options{Token: token}); err == nil || status != 403 {
			t.Errorf("a new socket: %d %v", status, err)
		}
	}
	x.call("", "POST", "/auth/agent-token", map[string]any{"agent_id": nova, "api_key": key}, 401)
	x.call(benToken, "GET", "/agents/"+nova, nil, 404)
	x.call(benToken, "POST", "/conversations", map[string]any{"type": "direct", "memberIds": []string{ada}}, 422)

	for removed, told := false, false; !removed || !told; { // in any order: the agent's end is a job
		m := bens.Next()
		removed = removed || m.Event == "member_removed"
		var changed struct {
			MessageID string
			Metadata  struct {
				NotAnswered *struct{ Agents []string } `json:"not_answered"`
			}
		}
		if m.Event != "message_metadata_changed" || json.Unmarshal(m.Payload, &changed) != nil || changed.MessageID != asked || changed.Metadata.NotAnswered == nil {
			continue
		}
		told = true
		if got := changed.Metadata.NotAnswered.Agents; len(got) != 1 || got[0] != "Nova" {
			t.Errorf("who did not answer: %q", got)
		}
	}
	for _, m := range x.call(benToken, "GET", "/conversations/"+group, nil, 200)["members"].([]any) {
		seat := m.(map[string]any)
		if seat["participantId"] == ada || seat["participantId"] == ben && seat["role"] != "admin" {
			t.Errorf("a seat of the group: %v", seat)
		}
	}
	x.call(benToken, "PATCH", "/conversations/"+group, map[string]any{"title": "Our plans"}, 200)
	kept := x.call(benToken, "GET", "/conversations/"+direct+"/messages", nil, 200)["messages"].([]any)
	if m := kept[0].(map[string]any); m["content"] != "keep this" || m["senderName"] != "Deleted account" {
		t.Errorf("what was written together: %v", m)
	}
	x.call(benToken, "POST", "/conversations/"+direct+"/messages", map[string]any{"content": "a note to myself"}, 201)
}
