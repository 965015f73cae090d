package app_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
)

// A change of the soul that names none changes nothing, by the agent and by its owner.
func TestK3_SoulStaysUnlessItIsNamed(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	owner, _ := person(t, s.URL)
	var made struct{ ID, APIKey string }
	call(t, s.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Nova", "runtime": "local"}, 201, &made)
	var in struct{ Token string }
	call(t, s.URL, "", "POST", "/api/auth/agent-token", map[string]any{"agent_id": made.ID, "api_key": made.APIKey}, 200, &in)
	soul := func() string {
		var out struct{ SoulMd string }
		call(t, s.URL, in.Token, "GET", "/api/agents/me/soul", nil, 200, &out)
		return out.SoulMd
	}
	call(t, s.URL, in.Token, "PATCH", "/api/agents/me/soul", map[string]any{"soul_md": "# Nova"}, 200, nil)
	call(t, s.URL, in.Token, "PATCH", "/api/agents/me/soul", map[string]any{}, 200, nil)
	call(t, s.URL, owner, "PATCH", "/api/agents/"+made.ID+"/soul", map[string]any{"soulMd": "another key"}, 200, nil)
	if got := soul(); got != "# Nova" {
		t.Errorf("the soul is %q", got)
	}
	call(t, s.URL, owner, "PATCH", "/api/agents/"+made.ID+"/soul", map[string]any{"soul_md": "# Vela"}, 200, nil)
	if got := soul(); got != "# Vela" {
		t.Errorf("the soul is %q", got)
	}
}
