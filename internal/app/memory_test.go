package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
)

type memoryJSON struct {
	ID, Category, Key, Content string
	Confidence                 float64
	Tags                       []string
	AgentID, FamilyRootID      string
	OrganizationID             *string
}

type memoriesJSON struct {
	Memories     []memoryJSON
	Total        int
	HasMore      bool
	FamilyRootID string
}

// What people and bridges do with memories over REST (bridge 3.4, desktop 4.2, 4.17):
// pages, conflicts, search, forgetting.
func TestK3_MemoryOverREST(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	owner, ownerID := person(t, s.URL)
	stranger, _ := person(t, s.URL)
	var made struct{ ID, APIKey string }
	call(t, s.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Nova", "runtime": "local"}, 201, &made)
	var in struct{ Token string }
	call(t, s.URL, "", "POST", "/api/auth/agent-token", map[string]any{"agent_id": made.ID, "api_key": made.APIKey}, 200, &in)
	page := func(token, path string) (out memoriesJSON) {
		t.Helper()
		call(t, s.URL, token, "GET", path, nil, 200, &out)
		return out
	}

	// The raw key of an agent that runs code is good for its memories (bridge 1.3).
	call(t, s.URL, owner, "PATCH", "/api/agents/"+made.ID, map[string]any{"settings": map[string]any{"execution_mode": "code_action"}}, 200, nil)
	for n := range 5 {
		var saved struct {
			Memory       memoryJSON
			MemoryPrompt string
		}
		call(t, s.URL, made.APIKey, "POST", "/api/agents/me/memories", map[string]any{"category": "fact", "key": fmt.Sprint("k", n), "content": fmt.Sprint("Fact ", n), "confidence": 0.7, "tags": []string{"a"}}, 200, &saved)
		if saved.Memory.AgentID != made.ID || saved.Memory.Confidence != 0.7 || !strings.Contains(saved.MemoryPrompt, fmt.Sprint("Fact ", n)) {
			t.Errorf("%+v", saved)
		}
	}
	if got := page(made.APIKey, "/api/agents/me/memories?limit=2"); got.Total != 5 || !got.HasMore || len(got.Memories) != 2 || got.Memories[0].Key != "k4" {
		t.Errorf("%+v", got)
	}
	of := "/api/agents/" + made.ID + "/memories"
	if got := page(owner, of+"?offset=4"); got.Total != 5 || got.HasMore || len(got.Memories) != 1 || got.Memories[0].Key != "k0" {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"?offset=x", "?offset=-1", "?offset=99999999999", "?q=" + strings.Repeat("x", 501), "?organizationId=x"} {
		call(t, s.URL, owner, "GET", of+bad, nil, 422, nil)
	}
	for _, bad := range []map[string]any{{"category": "gossip", "key": "k", "content": "x"}, {"category": "fact", "content": "x"}, {"category": "fact", "key": "k"}, {"category": "fact", "key": "k", "content": "x", "confidence": 2}} {
		call(t, s.URL, in.Token, "POST", "/api/agents/me/memories", bad, 422, nil)
	}
	call(t, s.URL, in.Token, "POST", "/api/agents/me/memories", map[string]any{"category": "fact", "key": "k", "content": "x", "sourceConversationId": "11111111-1111-4111-8111-111111111111"}, 404, nil)

	var one struct{ Memory memoryJSON }
	call(t, s.URL, owner, "POST", of, map[string]any{"category": "fact", "key": "k0", "content": "Other"}, 409, nil)
	call(t, s.URL, owner, "POST", of, map[string]any{"category": "fact", "key": "k0", "content": "Other", "force": true}, 201, &one)
	call(t, s.URL, owner, "PATCH", of+"/"+one.Memory.ID, map[string]any{"content": "Better", "tags": []string{"B", "b"}}, 200, &one)
	if one.Memory.Content != "Better" || len(one.Memory.Tags) != 1 || one.Memory.Confidence != 0.7 {
		t.Errorf("%+v", one)
	}
	call(t, s.URL, stranger, "DELETE", of+"/"+one.Memory.ID, nil, 404, nil)
	var told struct{ MemoryPrompt string }
	call(t, s.URL, owner, "DELETE", of+"/"+one.Memory.ID, nil, 200, &told)
	if strings.Contains(told.MemoryPrompt, "Better") || !strings.Contains(told.MemoryPrompt, "Fact 1") {
		t.Errorf("%+v", told)
	}
	call(t, s.URL, owner, "DELETE", of+"/"+one.Memory.ID, nil, 404, nil)

	// What the family shares: everywhere, or in a workspace.
	var me struct{ ActiveOrganizationID string }
	call(t, s.URL, owner, "GET", "/api/me", nil, 200, &me)
	call(t, s.URL, owner, "POST", "/api/family/memories", map[string]any{"category": "fact", "key": "home", "content": "Oslo"}, 201, &one)
	call(t, s.URL, owner, "POST", "/api/family/memories", map[string]any{"category": "fact", "key": "home", "content": "Rome"}, 409, nil)
	call(t, s.URL, owner, "POST", "/api/family/memories", map[string]any{"category": "fact", "key": "home", "content": "Team house", "scope": "workspace", "organizationId": me.ActiveOrganizationID}, 201, nil)
	call(t, s.URL, stranger, "POST", "/api/family/memories", map[string]any{"category": "fact", "key": "home", "content": "x", "scope": "workspace", "organizationId": me.ActiveOrganizationID}, 404, nil)
	call(t, s.URL, owner, "POST", "/api/family/memories", map[string]any{"category": "fact", "key": "x", "content": "x", "scope": "world"}, 422, nil)
	if got := page(owner, "/api/family/memories"); got.Total != 1 || got.Memories[0].Content != "Oslo" || got.FamilyRootID != ownerID {
		t.Errorf("%+v", got)
	}
	if got := page(owner, "/api/family/memories?organizationId="+me.ActiveOrganizationID); got.Total != 2 {
		t.Errorf("%+v", got)
	}
	if got := page(in.Token, "/api/family/memories?q=house"); got.Total != 1 || got.Memories[0].OrganizationID == nil {
		t.Errorf("an agent reads %+v", got)
	}

	var found struct {
		Results []struct{ Type, ID, Title string }
	}
	call(t, s.URL, owner, "GET", "/api/me/memories/search?q=x", nil, 422, nil)
	call(t, s.URL, owner, "GET", "/api/me/memories/search?q=facts+in+oslo", nil, 200, &found)
	if len(found.Results) != 5 {
		t.Errorf("%+v", found)
	}
	var items []map[string]any
	for _, r := range found.Results {
		items = append(items, map[string]any{"type": r.Type, "id": r.ID})
	}
	var gone struct{ Deleted int }
	call(t, s.URL, stranger, "POST", "/api/me/memories/forget", map[string]any{"items": items}, 200, &gone)
	if gone.Deleted != 0 {
		t.Errorf("a stranger forgets %d", gone.Deleted)
	}
	call(t, s.URL, owner, "POST", "/api/me/memories/forget", map[string]any{"items": append(items, map[string]any{"type": "annotation", "id": ownerID})}, 200, &gone)
	if got := page(owner, of); gone.Deleted != 5 || got.Total != 0 {
		t.Errorf("%+v, %d are left", gone, got.Total)
	}

	// The person's own place.
	call(t, s.URL, in.Token, "GET", "/api/owner/location", nil, 404, nil)
	call(t, s.URL, owner, "PUT", "/api/me/location", map[string]any{"latitude": 59.9}, 422, nil)
	call(t, s.URL, owner, "PUT", "/api/me/location", map[string]any{"latitude": 59.9, "longitude": 10.7, "accuracy": 12.5}, 200, nil)
	var at struct {
		Location struct{ Latitude, Longitude, Accuracy float64 }
	}
	call(t, s.URL, made.APIKey, "GET", "/api/owner/location", nil, 200, &at)
	if at.Location.Latitude != 59.9 || at.Location.Accuracy != 12.5 {
		t.Errorf("%+v", at)
	}
	call(t, s.URL, owner, "DELETE", "/api/me/location", nil, 204, nil)
	call(t, s.URL, in.Token, "GET", "/api/owner/location", nil, 404, nil)

	if log := s.Log.Text(); strings.Contains(log, "Team house") || strings.Contains(log, "59.9") {
		t.Error("what is remembered is in the log")
	}
}

// An outdated write is refused, a page of changes goes back to the first, and a soul comes
// back with the version that its owner names.
func TestK3_RoomMemoryAndSoulOverREST(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	owner, _ := person(t, s.URL)
	var made struct{ ID string }
	call(t, s.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Nova", "runtime": "local", "soulMd": "# One"}, 201, &made)
	var room struct{ ID string }
	call(t, s.URL, owner, "POST", "/api/conversations", map[string]any{"type": "group", "title": "Room", "memberIds": []string{made.ID}}, 201, &room)
	at := "/api/conversations/" + room.ID
	var m struct {
		Version int
		Memory  map[string]any
		Diff    map[string]any
	}
	call(t, s.URL, owner, "GET", at+"/memory", nil, 200, &m)
	if m.Version != 0 || len(m.Memory) != 0 {
		t.Errorf("%+v", m)
	}
	for n := range 3 {
		call(t, s.URL, owner, "PATCH", at+"/memory", map[string]any{"changes": map[string]any{"n": n}, "version": n}, 200, &m)
	}
	call(t, s.URL, owner, "PATCH", at+"/memory", map[string]any{"changes": map[string]any{"n": 9}, "version": 1}, 409, nil)
	call(t, s.URL, owner, "PATCH", at+"/memory", map[string]any{"changes": "x"}, 422, nil)
	call(t, s.URL, owner, "PATCH", at+"/memory", map[string]any{}, 422, nil)
	call(t, s.URL, owner, "PUT", at+"/memory", map[string]any{}, 422, nil)
	var h struct {
		History []struct{ Version int }
		HasMore bool
	}
	call(t, s.URL, owner, "GET", at+"/memory/history?limit=2", nil, 200, &h)
	if len(h.History) != 2 || !h.HasMore || h.History[0].Version != 3 {
		t.Errorf("%+v", h)
	}
	call(t, s.URL, owner, "GET", fmt.Sprint(at, "/memory/history?limit=2&before=", h.History[1].Version), nil, 200, &h)
	if len(h.History) != 1 || h.HasMore || h.History[0].Version != 1 {
		t.Errorf("%+v", h)
	}
	for n := range 12 {
		call(t, s.URL, owner, "POST", at+"/messages", map[string]any{"content": fmt.Sprint("message ", n)}, 201, nil)
	}
	var c struct {
		Messages []struct{ Content, InsertedAt string }
		HasMore  bool
		Tier     int
	}
	call(t, s.URL, owner, "GET", at+"/context", nil, 200, &c)
	if c.Tier != 1 || len(c.Messages) != 10 || !c.HasMore || c.Messages[0].Content != "message 2" || c.Messages[9].Content != "message 11" {
		t.Errorf("%+v", c)
	}
	call(t, s.URL, owner, "GET", at+"/context?tier=2&limit=5&before="+c.Messages[0].InsertedAt, nil, 200, &c)
	if len(c.Messages) != 2 || c.HasMore || c.Messages[0].Content != "message 0" {
		t.Errorf("%+v", c)
	}
	call(t, s.URL, owner, "GET", at+"/context?tier=3", nil, 422, nil)

	soul := "/api/agents/" + made.ID + "/soul"
	for _, text := range []string{"# Two", "# Three"} {
		call(t, s.URL, owner, "PATCH", soul, map[string]any{"soul_md": text}, 200, nil)
	}
	var was struct {
		SoulMd  string
		History []struct{ ID, SoulMd string }
	}
	call(t, s.URL, owner, "GET", soul+"/history", nil, 200, &was)
	if was.SoulMd != "# Three" || len(was.History) != 2 || was.History[1].SoulMd != "# One" {
		t.Fatalf("%+v", was)
	}
	var agent struct{ SoulMd string }
	call(t, s.URL, owner, "POST", soul+"/revert", map[string]any{"version": was.History[1].ID}, 200, &agent)
	if agent.SoulMd != "# One" {
		t.Errorf("%+v", agent)
	}
	call(t, s.URL, owner, "POST", soul+"/revert", nil, 200, &agent)
	if agent.SoulMd != "# Three" {
		t.Errorf("%+v", agent)
	}
	call(t, s.URL, owner, "POST", soul+"/revert", map[string]any{"version": "x"}, 422, nil)
}
