package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
)

// TestP3_OfficialPhoenixClient has the unmodified npm client talk to the
// whole server, as a person and as an agent's bridge, also across a restart.
func TestP3_OfficialPhoenixClient(t *testing.T) {
	t.Parallel()
	const suite = "../../interop/phoenix"
	if _, err := os.Stat(suite + "/node_modules/phoenix"); err != nil {
		npm := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
		npm.Dir = suite
		if out, err := npm.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	s := apptest.New(t)
	token, id := person(t, s.URL)
	var agent struct{ ID, APIKey string }
	call(t, s.URL, token, "POST", "/api/agents", map[string]any{"displayName": "Node", "runtime": "local"}, 0, &agent)
	var exchanged struct{ Token string }
	call(t, s.URL, "", "POST", "/api/auth/agent-token", map[string]any{"agent_id": agent.ID, "api_key": agent.APIKey}, 200, &exchanged)
	var executor, room struct{ ID string }
	call(t, s.URL, exchanged.Token, "POST", "/api/gateway/executors", map[string]any{"executor_key": "node", "max_concurrent": 1}, 0, &executor)
	call(t, s.URL, token, "POST", "/api/conversations", map[string]any{"type": "direct", "memberIds": []string{agent.ID}}, 0, &room)

	mux := http.NewServeMux()
	mux.HandleFunc("POST /restart", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Restart(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Item, Text string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		for _, c := range [][2]string{
			{"/api/conversations/" + room.ID + "/messages", `{"content":"` + in.Text + `","metadata":{"stream_id":"s-` + in.Item + `"}}`},
			{"/api/gateway/messages/" + in.Item + "/ack", `{"executor_id":"` + executor.ID + `"}`},
		} {
			if status, body, err := request(r.Context(), s.URL, exchanged.Token, "POST", c[0], c[1]); err != nil || status/100 != 2 {
				http.Error(w, c[0]+": "+body, http.StatusInternalServerError)
				return
			}
		}
	})
	control := httptest.NewServer(mux)
	defer control.Close()
	world, err := json.Marshal(map[string]string{
		"url": "ws" + strings.TrimPrefix(s.URL, "http") + "/socket", "control": control.URL, "person": id, "token": token,
		"agent": agent.ID, "agentToken": exchanged.Token, "executor": executor.ID, "room": room.ID,
	})
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "--test", "product.mjs")
	node.Dir, node.Env = suite, append(os.Environ(), "PHX_WORLD="+string(world))
	if out, err := node.CombinedOutput(); err != nil {
		t.Fatalf("node --test: %v\n%s", err, out)
	}
	if n := s.Count(t, `SELECT count(*) FROM turns WHERE outcome = 'answered'`); n != 2 {
		t.Errorf("%d turns were answered, want 2", n)
	}
}
