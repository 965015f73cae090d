package flow_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
)

// TestS1_CredentialIsUsedAndNeverSeen: an agent asks for a secret, its owner gives
// it, the service gets it, and no text for a model holds it, though the service
// echoes it. It goes to the endpoint that was named and nowhere else, for no other
// agent and on behalf of nobody else.
func TestS1_CredentialIsUsedAndNeverSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const planted = "key-planted-Paprika+/7"
	var got []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the secret went elsewhere") }))
	defer elsewhere.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+r.Header.Get("X-Key")+" "+string(body))
		if r.URL.Path == "/v1/away" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"echo":%q}`, r.Header)
	}))
	defer site.Close()
	p := d.platform()
	tools := d.toolbox((&flow.CredentialTools{Approvals: d.s, Fetch: p.Fetch}).List()...)
	tools.Gate = d.s
	run := func(who access.Actor, room id.Conversation, name, args string) flow.ToolResult {
		return d.use(tools, who, flow.ToolCall{Name: name, Args: json.RawMessage(args), ConversationID: room.String()})
	}
	direct := d.Room("direct", d.owner, d.bot)
	give := func(args string) string {
		t.Helper()
		out := run(d.bot, direct, "request_credential", args)
		if out.Refused != nil {
			t.Fatalf("%+v", out.Refused)
		}
		list, err := d.s.PendingCredentials(t.Context(), d.owner)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d wait, %v", len(list), err)
		}
		given, err := d.s.Fulfil(t.Context(), d.owner, list[0].ID, planted)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.DB.Exec(t.Context(), `UPDATE credential_requests SET endpoint = $2::text WHERE id = $1::uuid`, given.ID, site.URL+"/v1"); err != nil { // the test's site has no certificate
			t.Fatal(err)
		}
		return given.CredentialID.String()
	}
	cred := give(`{"label":"Weather","endpoint":"https://api.example.com/v1","reason":"rain"}`)
	call := func(who access.Actor, room id.Conversation, rest string) flow.ToolResult {
		return run(who, room, "call_with_credential", fmt.Sprintf(`{"credential_id":%q%s}`, cred, rest))
	}
	out := call(d.bot, direct, `,"path":"/rain","query":{"city":"Köln"}`)
	if out.Refused != nil || !strings.Contains(out.Text, "Status: 200") || !strings.Contains(out.Text, "<untrusted_text source=") || strings.Contains(out.Text, planted) || !strings.Contains(out.Text, "[secret]") {
		t.Errorf("%+v", out)
	}
	if len(got) != 1 || got[0] != "GET /v1/rain?city=K%C3%B6ln Bearer "+planted+" " {
		t.Errorf("the service got %q", got)
	}
	for what, rest := range map[string]string{
		"up": `,"path":"/../admin"`, "encoded": `,"path":"/%2e%2e/admin"`, "no slash": `,"path":"rain"`, "another host": `,"path":"//evil.example.com"`, "a query": `,"path":"/x?y"`,
	} {
		if out := call(d.bot, direct, rest); out.Refused == nil && !strings.HasPrefix(got[len(got)-1], "GET /v1/") {
			t.Errorf("%s: %+v, the service got %q", what, out, got[len(got)-1])
		}
	}
	if out := call(d.bot, direct, `,"path":"/away"`); out.Refused == nil || out.Refused.Code != "redirected_elsewhere" {
		t.Errorf("a redirect: %+v", out)
	}
	if out := call(d.other, d.Room("direct", d.peer, d.other), ""); out.Refused == nil {
		t.Errorf("another agent: %+v", out)
	}
	d.Claim(d.bot, d.Say(d.peer, d.room, "@Bot look up the rain for me").Message.ID)
	if out := call(d.bot, d.room, ""); out.Refused == nil || out.Refused.Code != "forbidden" {
		t.Errorf("on behalf of somebody else: %+v", out)
	}

	cred = give(`{"label":"Weather","endpoint":"https://api.example.com","auth_mode":"header","auth_header":"X-Key"}`)
	if out := call(d.bot, direct, `,"method":"POST","body":"{\"a\":1}"`); out.Refused == nil && got[len(got)-1] != `POST /v1 `+planted+` {"a":1}` {
		t.Errorf("%+v, the service got %q", out, got[len(got)-1])
	}
	if n := d.Count(`SELECT count(*) FROM tool_calls WHERE tool_calls::text LIKE '%' || $1 || '%'`, planted); n != 0 {
		t.Error("the audit holds the secret")
	}
	if out := run(d.bot, direct, "request_credential", `{"label":"x","endpoint":"http://x.org"}`); out.Refused == nil || out.Refused.Code != "invalid_arguments" {
		t.Errorf("plain http: %+v", out)
	}
}
