package flow_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/connection"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/secret"
)

const apiSecret = "s3cr3t-token-of-the-crm"

// crm is a service with its owner's tools.
type crm struct {
	*bench
	tools *flow.Tools
	conns *flow.Connections
	seen  []string // what arrived there
	reply string
}

func openCRM(t *testing.T, owner func(b *bench) (access.Actor, access.Actor)) (*crm, access.Actor, access.Actor, connection.Connection) {
	t.Helper()
	b := newBench(t, quick)
	c := &crm{bench: b}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.seen = append(c.seen, strings.TrimSpace(strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), string(body)}, " ")))
		if r.URL.Path == "/v1/away" {
			http.Redirect(w, r, "http://127.0.0.2/steal", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, c.reply+r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	ada, bot := owner(b)
	ring, err := secret.ParseRing(secret.Generate())
	if err != nil {
		t.Fatal(err)
	}
	p := b.platform()
	c.conns = &flow.Connections{DB: b.DB, Ring: ring, Fetch: p.Fetch}
	api := &flow.APITools{Connections: c.conns}
	if c.tools, err = flow.NewTools(b.DB, p.Files.Log, slices.Concat(p.List(), api.List())...); err != nil {
		t.Fatal(err)
	}
	made, err := c.conns.Create(t.Context(), ada, flow.ConnectionEdit{
		Name: new("crm"), Description: new("Customers"), BaseURL: new(s.URL + "/v1/"), AuthKind: new(connection.Bearer), Secret: new(apiSecret),
		Operations: &[]connection.Operation{{Method: "GET", Path: "/contacts/{id}"}, {Method: "POST", Path: "/contacts"}, {Method: "GET", Path: "/away"}, {Method: "DELETE", Path: "/contacts/{id}", Ask: true}},
		Agents:     &[]id.Participant{bot.ID},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, ada, bot, made
}

func pair(b *bench) (ada, bot access.Actor) {
	ada = b.Person("Ada")
	return ada, b.Agent(ada, "Nova")
}

func TestK3_ServicesAreCalledWithTheirSecret(t *testing.T) {
	t.Parallel()
	c, ada, bot, made := openCRM(t, pair)
	room := c.Room("direct", ada, bot)
	if made.Fingerprint == nil || strings.Contains(fmt.Sprintf("%+v", made), apiSecret) {
		t.Errorf("the secret shows: %+v", made)
	}
	c.asked(ada, bot, room)
	if list := fmt.Sprint(c.must(c.tools, bot, room, "list_apis", `{}`)["apis"]); !strings.Contains(list, "/contacts/{id}") || strings.Contains(list, "127.0.0.1") {
		t.Errorf("list %s", list)
	}
	c.reply = "hello "
	out := c.use(c.tools, bot, flow.ToolCall{Name: "call_api", Args: json.RawMessage(`{"api":"crm","path":"/contacts/7","query":{"full":true}}`), ConversationID: room.String()})
	if want := "<untrusted_text source=\"service crm\">\nStatus: 200\n\nhello Bearer [secret]\n</untrusted_text>"; out.Text != want {
		t.Errorf("%q %+v, want %q", out.Text, out.Refused, want)
	}
	if want := "GET /v1/contacts/7?full=true Bearer " + apiSecret; c.seen[0] != want {
		t.Errorf("arrived %q", c.seen[0])
	}
	// Its answer has entered the turn: what changes something asks now.
	c.refused(c.tools, bot, room, "call_api", `{"api":"crm","method":"POST","path":"/contacts","body":{"name":"Eve"}}`, "forbidden")
	g := &gate{verdict: flow.ToolVerdict{Allowed: true}}
	c.tools.Gate = g
	c.asked(ada, bot, room)
	c.must(c.tools, bot, room, "call_api", `{"api":"crm","method":"POST","path":"/contacts","body":{"name":"Eve"}}`)
	if len(g.asked) != 0 || !strings.HasSuffix(c.seen[1], `{"name":"Eve"}`) {
		t.Errorf("a clean turn asked %d times; arrived %q", len(g.asked), c.seen)
	}
	c.must(c.tools, bot, room, "call_api", `{"api":"crm","method":"DELETE","path":"/contacts/7"}`)
	if len(g.asked) != 1 || !g.asked[0].Marked {
		t.Errorf("an operation that asks always: %+v", g.asked)
	}
	c.refused(c.tools, bot, room, "call_api", `{"api":"crm","path":"/away"}`, "redirected_elsewhere")
}

func TestK3_OnlyWhatIsListedIsCalled(t *testing.T) {
	t.Parallel()
	c, ada, bot, made := openCRM(t, pair)
	room := c.Room("direct", ada, bot)
	c.asked(ada, bot, room)
	for _, path := range []string{"/contacts", "/contacts/", "/contacts/7/secret", "/contacts/..", "/contacts/.", "/contacts/7?x=1", "/contacts/7#x", "/contacts/%2e%2e", "//evil.test/x", "/contacts/{id}", "contacts/7", "/contacts/7\\x", "@evil.test/contacts/7"} {
		c.refused(c.tools, bot, room, "call_api", fmt.Sprintf(`{"api":"crm","path":%q}`, path), "operation_forbidden")
	}
	c.refused(c.tools, bot, room, "call_api", `{"api":"other","path":"/contacts/7"}`, "not_found")
	// Another agent of hers has not been given it, and other people's turns may not use it.
	c.refused(c.tools, c.Agent(ada, "Vela"), room, "call_api", `{"api":"crm","path":"/contacts/7"}`, "not_found")
	bob := c.Person("Bob")
	group := c.Room("group", bob, bot)
	c.asked(bob, bot, group)
	c.refused(c.tools, bot, group, "call_api", `{"api":"crm","path":"/contacts/7"}`, "not_found")
	if _, err := c.conns.Edit(t.Context(), ada, made.ID, flow.ConnectionEdit{Shared: new(true)}); err != nil {
		t.Fatal(err)
	}
	c.must(c.tools, bot, group, "call_api", `{"api":"crm","path":"/contacts/7"}`)
	if _, err := c.conns.Edit(t.Context(), ada, made.ID, flow.ConnectionEdit{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	c.refused(c.tools, bot, room, "call_api", `{"api":"crm","path":"/contacts/7"}`, "not_found")
	if len(c.seen) != 1 {
		t.Errorf("%d calls arrived", len(c.seen))
	}
}

func TestK3_ServicesAreTheirOwners(t *testing.T) {
	t.Parallel()
	c, ada, bot, made := openCRM(t, pair)
	eve := c.Person("Eve")
	bad := func(name string, e flow.ConnectionEdit, field string) {
		t.Helper()
		_, err := c.conns.Edit(t.Context(), ada, made.ID, e)
		if f := fault.From(err); f.Code != "invalid" || len(f.Fields) != 1 || f.Fields[0].Field != field {
			t.Errorf("%s: %v %+v", name, err, f.Fields)
		}
	}
	bad("another server", flow.ConnectionEdit{BaseURL: new("https://evil.test")}, "auth.secret")
	bad("a secret in the open", flow.ConnectionEdit{BaseURL: new("http://api.example.com"), Secret: new("x")}, "baseUrl")
	bad("a file", flow.ConnectionEdit{BaseURL: new("file:///etc/passwd"), Secret: new("x")}, "baseUrl")
	bad("no name", flow.ConnectionEdit{Name: new("My CRM")}, "name")
	bad("no operations", flow.ConnectionEdit{Operations: &[]connection.Operation{}}, "operations")
	bad("a climbing path", flow.ConnectionEdit{Operations: &[]connection.Operation{{Method: "GET", Path: "/a/../b"}}}, "operations.0.path")
	bad("somebody's agent", flow.ConnectionEdit{Agents: &[]id.Participant{c.Agent(eve, "Hers").ID}}, "agentIds")
	if _, err := c.conns.Edit(t.Context(), eve, made.ID, flow.ConnectionEdit{Shared: new(true)}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger edits: %v", err)
	}
	if err := c.conns.Delete(t.Context(), eve, made.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger deletes: %v", err)
	}
	if _, err := c.conns.List(t.Context(), bot); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("an agent lists: %v", err)
	}
	if n := c.Count(`SELECT count(*)::int FROM connections WHERE position($1::bytea IN sealed) > 0`, []byte(apiSecret)); n != 0 {
		t.Error("the secret lies open in the table")
	}
	if err := c.conns.Delete(t.Context(), ada, made.ID); err != nil {
		t.Error(err)
	}
	if all, err := c.conns.List(t.Context(), ada); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
}

// TestK3_AnEchoedSecretIsTakenOut: in every spelling in which services repeat what they
// were sent; a password without its user, too. What was called with is in no error.
func TestK3_AnEchoedSecretIsTakenOut(t *testing.T) {
	t.Parallel()
	c, ada, bot, made := openCRM(t, pair)
	room := c.Room("direct", ada, bot)
	const user, password = "ada", `p/a"ss+wörd&1`
	if _, err := c.conns.Edit(t.Context(), ada, made.ID, flow.ConnectionEdit{AuthKind: new(connection.Basic), Secret: new(user + ":" + password)}); err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(password)
	for _, echo := range []string{
		user + ":" + password, password, string(quoted), strings.ReplaceAll(string(quoted), "/", `\/`), url.QueryEscape(password), url.PathEscape(password),
		base64.StdEncoding.EncodeToString([]byte(password)), base64.RawURLEncoding.EncodeToString([]byte(user + ":" + password)),
	} {
		c.reply = "you are <" + echo + "> "
		c.asked(ada, bot, room)
		out := c.use(c.tools, bot, flow.ToolCall{Name: "call_api", Args: json.RawMessage(`{"api":"crm","path":"/contacts/7"}`), ConversationID: room.String()})
		if out.Refused != nil || strings.Contains(out.Text, echo) || strings.Contains(out.Text, "wörd") || strings.Count(out.Text, "[secret]") != 2 {
			t.Errorf("echoed as %s: %s %+v", echo, out.Text, out.Refused)
		}
	}
	fetch := c.platform().Fetch
	for _, address := range []string{"http://127.0.0.1:1/?key=hush", "http://10.0.0.1/?key=hush", "http://nowhere.invalid/?key=hush"} {
		if _, err := fetch.Do(t.Context(), outbound.Request{URL: address}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestK3_ANewSecretNeverGoesToTheOldServer: who has read where a service is does not get
// the secret that came with another address.
func TestK3_ANewSecretNeverGoesToTheOldServer(t *testing.T) {
	t.Parallel()
	c, ada, _, made := openCRM(t, pair)
	if sealed, err := connection.Sealed(t.Context(), c.DB, made); err != nil || len(sealed) == 0 {
		t.Fatalf("as it was read: %v", err)
	}
	moved := strings.Replace(made.BaseURL, "127.0.0.1", "127.0.0.2", 1)
	if _, err := c.conns.Edit(t.Context(), ada, made.ID, flow.ConnectionEdit{BaseURL: &moved, Secret: new("another")}); err != nil {
		t.Fatal(err)
	}
	if sealed, err := connection.Sealed(t.Context(), c.DB, made); !fault.Is(err, "service_changed") || sealed != nil {
		t.Errorf("after it moved: %d bytes, %v", len(sealed), err)
	}
}
