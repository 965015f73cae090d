package judgetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// DesktopOptions shape one running desktop application.
type DesktopOptions struct {
	Name   string // how violations call it; "desktop"
	Device string // raw host name; "judge-desktop"
	Origin string // "tauri://localhost"
	Ledger *Ledger
}

// Desktop is the desktop client of contract desktop.md: HTTP conventions of 1,
// account of 2, socket of 3, calls of 4.1 to 4.4. It decodes strictly what the
// real one reads and keeps the same stores (unread, streams, timelines).
type Desktop struct {
	t    testing.TB
	g    Target
	led  *Ledger
	rest transport
	opt  DesktopOptions

	ID, Email, Password string
	token               string

	run    context.Context
	cancel context.CancelFunc

	watched
	store
	sock     *phxSocket
	connects int
}

// errLoggedOut is what any 401 does to the client (desktop 1.2).
var errLoggedOut = errors.New("401: the client deleted its token and logged out")

// NewDesktop prepares a client; it ends with t.
func NewDesktop(t testing.TB, g Target, opt DesktopOptions) *Desktop {
	if opt.Name == "" {
		opt.Name = "desktop"
	}
	if opt.Device == "" {
		opt.Device = "judge-desktop"
	}
	if opt.Origin == "" {
		opt.Origin = "tauri://localhost"
	}
	led := opt.Ledger
	if led == nil {
		led = &Ledger{}
		t.Cleanup(func() { led.Report(t) })
	}
	run, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	d := &Desktop{
		t: t, g: g, led: led, opt: opt, run: run, cancel: cancel, store: newStore(),
		rest: newTransport(g.base(), led, opt.Name, "desktop 1.2", 30*time.Second),
	}
	t.Cleanup(d.Quit)
	return d
}

// call is the client's one request function: Content-Type on everything, bearer
// when a token is stored, 429 repeated after 1, 2 and 4 s, 401 logs out.
func (d *Desktop) call(ctx context.Context, method, path string, body any) (Answer, error) {
	c := call{method: method, path: path, body: body, header: map[string]string{"Content-Type": "application/json", "Origin": d.opt.Origin}}
	a, err := d.rest.send(ctx, d.token, c)
	for pause := time.Second; err == nil && a.Status == http.StatusTooManyRequests && pause <= 4*time.Second; pause *= 2 {
		if err := wait(ctx, pause); err != nil {
			return a, err
		}
		a, err = d.rest.send(ctx, d.token, c)
	}
	if err != nil {
		return a, err
	}
	if allow := a.Header.Get("Access-Control-Allow-Origin"); allow != d.opt.Origin && allow != "*" {
		d.led.Break(d.opt.Name, "desktop 0.3", "%s %s: Access-Control-Allow-Origin is %q for origin %s: the webview hides the answer", method, pathKind(path), allow, d.opt.Origin)
	}
	if a.Status == http.StatusUnauthorized {
		d.led.Break(d.opt.Name, "desktop 1.2", "%s %s answered 401: any 401 logs the person out", method, pathKind(path))
		return a, errLoggedOut
	}
	if a.Status >= 400 {
		d.led.check(d.opt.Name, "desktop 1.2", fmt.Sprintf("%s %s error %d", method, pathKind(path), a.Status), "Error", a.JSON)
	}
	return a, nil
}

// must makes a call whose answer has to be a 2xx of the shape ("" = any).
func (d *Desktop) must(ctx context.Context, section, method, path string, body any, shape string) (Answer, error) {
	a, err := d.call(ctx, method, path, body)
	if err != nil {
		return a, err
	}
	if !a.OK() {
		return a, fmt.Errorf("%s %s answered %d: %s", method, path, a.Status, clip(string(a.Body), 300))
	}
	if shape != "" {
		d.led.check(d.opt.Name, section, method+" "+pathKind(path), shape, a.JSON)
	}
	return a, nil
}

// soft makes a call whose failure the client swallows (desktop 7); only a wrong
// shape, a 401 or a 5xx is a breach.
func (d *Desktop) soft(ctx context.Context, section, method, path string, body any, shape string) Answer {
	a, err := d.call(ctx, method, path, body)
	if err == nil && a.OK() && shape != "" {
		d.led.check(d.opt.Name, section, method+" "+pathKind(path), shape, a.JSON)
	}
	return a
}

// SignUp makes a new account and signs in with the answer (desktop 2.1).
func (d *Desktop) SignUp(ctx context.Context, first, last string) error {
	policy := d.soft(ctx, "desktop 4.1", "GET", "/api/auth/signup-policy", nil, "")
	if policy.Map()["inviteRequired"] != false {
		return errors.New("the judge needs open sign-up: signup-policy says inviteRequired")
	}
	d.Email, d.Password = freshEmail(), goodPassword
	a, err := d.must(ctx, "desktop 2.1", "POST", "/api/auth/signup", map[string]any{
		"email": d.Email, "password": d.Password, "firstName": first, "lastName": last, "acceptedTerms": true,
		"birthDate": "1990-04-12", "marketingOptIn": false, "analyticsOptIn": false,
	}, "SignedIn")
	if err != nil {
		return err
	}
	return d.signedIn(a)
}

// SignIn opens a session of an existing account.
func (d *Desktop) SignIn(ctx context.Context, email, password string) error {
	d.Email, d.Password = email, password
	a, err := d.must(ctx, "desktop 4.1", "POST", "/api/auth/login", map[string]any{"email": email, "password": password}, "SignedIn")
	if err != nil {
		return err
	}
	return d.signedIn(a)
}

func (d *Desktop) signedIn(a Answer) error {
	me, _ := a.Map()["participant"].(map[string]any)
	d.token, d.ID = a.Str("token"), str(me, "id")
	if d.token == "" || d.ID == "" {
		return errors.New("signed in without token or participant id")
	}
	d.change(func() { d.me = me })
	return nil
}

// Start runs the call sequence of desktop 3.10 and returns when everything is
// loaded and the user topic is joined with its snapshot.
func (d *Desktop) Start(ctx context.Context) error {
	a, err := d.must(ctx, "desktop 2.5", "GET", "/api/me", nil, "Self")
	if err != nil {
		return err
	}
	d.change(func() { d.me = a.Map() })
	if a.Map()["policyReacceptRequired"] == true {
		if _, err := d.must(ctx, "desktop 2.3", "PATCH", "/api/me/consent", map[string]any{"reaccept": true}, "Self"); err != nil {
			return err
		}
	}
	if a.Str("timezone") != "Europe/Berlin" {
		d.soft(ctx, "desktop 4.2", "PUT", "/api/me/timezone", map[string]any{"timezone": "Europe/Berlin"}, "")
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	go d.keepConnected()
	if err := d.load(ctx); err != nil {
		return err
	}
	d.soft(ctx, "desktop 4.9", "GET", "/api/permission-requests", nil, "")
	d.soft(ctx, "desktop 4.9", "GET", "/api/credential-requests", nil, "")
	d.soft(ctx, "desktop 4.8", "GET", "/api/tasks", nil, "TaskList")
	d.reconcileAgents(ctx)
	return d.until(ctx, "presence_snapshot after the first join", func() bool { return d.snapshots >= 1 })
}

// load fetches the lists that start and reconnect share (desktop 3.9, 3.10).
func (d *Desktop) load(ctx context.Context) error {
	d.change(func() { d.announced = map[string]map[string]any{} })
	list, err := d.must(ctx, "desktop 4.4", "GET", "/api/conversations?scope=personal", nil, "ConversationList")
	if err != nil {
		return err
	}
	counts, err := d.must(ctx, "desktop 3.8", "GET", "/api/unread-counts", nil, "UnreadCounts")
	if err != nil {
		return err
	}
	agents, err := d.must(ctx, "desktop 4.10", "GET", "/api/agents", nil, "AgentList")
	if err != nil {
		return err
	}
	d.soft(ctx, "desktop 4.11", "GET", "/api/agents/health", nil, "HealthList")
	d.change(func() {
		d.rooms = map[string]map[string]any{}
		for _, row := range listOf(list.JSON, "conversations") {
			d.rooms[str(row, "id")] = row
			if str(row, "type") == "task" {
				d.led.Break(d.opt.Name, "desktop 5.1", "a task work room is listed")
			}
		}
		maps.Copy(d.rooms, d.announced)
		d.listed = true
		d.setUnread(counts.Map()["unreadCounts"])
		d.agents = map[string]map[string]any{}
		for _, row := range listOf(agents.JSON, "agents") {
			d.agents[str(row, "id")] = row
		}
	})
	return nil
}

// reconcileAgents is step 4 of desktop 3.10: a local agent that is listed as
// online here but not running is reported offline.
func (d *Desktop) reconcileAgents(ctx context.Context) {
	var stale []string
	d.read(func() {
		for id, row := range d.agents {
			if row["online"] == true && str(row, "runtime") == "local" && str(row, "ownerId") == d.ID && str(row, "deviceName") == d.opt.Device {
				stale = append(stale, id)
			}
		}
	})
	for _, id := range stale {
		d.soft(ctx, "desktop 4.11", "POST", "/api/agents/"+id+"/health/offline", nil, "")
	}
}

// CreateAgent makes an agent; the answer is flat and carries the key once.
func (d *Desktop) CreateAgent(ctx context.Context, name string) (id, key string, err error) {
	a, err := d.must(ctx, "desktop 4.10", "POST", "/api/agents", map[string]any{
		"displayName": name, "description": "made by the judge", "agentType": "worker", "runtime": "local",
		"modelConfig": map[string]any{"backend": "claude_cli", "model": "judge-model-1"},
	}, "CreatedAgent")
	if err != nil {
		return "", "", err
	}
	if a.Str("id") == "" || a.Str("apiKey") == "" {
		return "", "", errors.New("POST /api/agents: no flat id and apiKey")
	}
	return a.Str("id"), a.Str("apiKey"), nil
}

// CreateConversation posts a new conversation and reads it back, as the client
// does right after.
func (d *Desktop) CreateConversation(ctx context.Context, kind, title string, members ...string) (string, error) {
	body := map[string]any{"type": kind, "memberIds": members}
	if title != "" {
		body["title"] = title
	}
	a, err := d.must(ctx, "desktop 4.4", "POST", "/api/conversations", body, "")
	if err != nil {
		return "", err
	}
	id := a.Str("id")
	if id == "" {
		return "", errors.New("POST /api/conversations: no top-level id")
	}
	return id, d.fetchConversation(ctx, id)
}

func (d *Desktop) fetchConversation(ctx context.Context, id string) error {
	a, err := d.must(ctx, "desktop 4.4", "GET", "/api/conversations/"+id, nil, "ConversationFull")
	if err != nil {
		return err
	}
	d.change(func() { d.rooms[id] = a.Map() })
	return nil
}

// Older pages one page back with before = insertedAt of the oldest message held
// and tells whether the page was full (desktop 1.3).
func (d *Desktop) Older(ctx context.Context, conv string) (more bool, err error) {
	oldest := ""
	d.read(func() {
		if list := d.timeline[conv]; len(list) > 0 {
			oldest = str(list[0], "insertedAt")
		}
	})
	path := "/api/conversations/" + conv + "/messages?limit=30"
	if oldest != "" {
		path += "&before=" + url.QueryEscape(oldest)
	}
	a, err := d.must(ctx, "desktop 4.5", "GET", path, nil, "MessagePage")
	if err != nil {
		return false, err
	}
	page := listOf(a.JSON, "messages")
	for _, m := range page {
		if oldest != "" && str(m, "insertedAt") >= oldest {
			d.led.Break(d.opt.Name, "desktop 1.3", "page before %s holds a message of %s", oldest, str(m, "insertedAt"))
		}
	}
	if len(page) > 30 {
		d.led.Break(d.opt.Name, "desktop 1.3", "page of %d messages for limit=30", len(page))
	}
	d.change(func() { d.merge(conv, page) })
	return len(page) == 30, nil
}

// Quit is a logout: the socket is torn down, nothing is told to the server.
func (d *Desktop) Quit() {
	d.cancel()
	var sock *phxSocket
	d.change(func() { sock = d.sock })
	if sock != nil {
		sock.close()
	}
	d.rest.close()
}

// listOf reads a list that may stand bare or under a key.
func listOf(v any, key string) []map[string]any {
	if m, ok := v.(map[string]any); ok {
		v = m[key]
	}
	list, _ := v.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
