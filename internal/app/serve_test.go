package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/judgetest"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/secret"
)

// person signs somebody up and returns the token and id.
func person(t *testing.T, base string) (token, id string) {
	t.Helper()
	d := judgetest.NewDesktop(t, judgetest.Target{BaseURL: base, Patience: patience}, judgetest.DesktopOptions{Ledger: &judgetest.Ledger{}})
	if err := d.SignUp(t.Context(), "Ada", "Tester"); err != nil {
		t.Fatal(err)
	}
	var in struct {
		Token       string
		Participant struct{ ID string }
	}
	call(t, base, "", "POST", "/api/auth/login", map[string]any{"email": d.Email, "password": d.Password}, 200, &in)
	return in.Token, in.Participant.ID
}

// call makes one JSON request, checks the status (0 = any) and decodes the answer.
func call(t *testing.T, base, token, method, path string, body any, want int, out any) int {
	t.Helper()
	raw := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(b)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if want != 0 && res.StatusCode != want {
		t.Fatalf("%s %s answered %d: %s", method, path, res.StatusCode, b)
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
	return res.StatusCode
}

func serveEnv(t *testing.T) (env []string, base string) {
	t.Helper()
	cfg := pgtest.Config(t)
	addr := apptest.FreeAddr(t)
	return []string{
		"DATABASE_URL=" + cfg.URL, "DATABASE_DIRECT_URL=" + cfg.DirectURL, "AGNTCHAT_ADDR=" + addr, "AGNTCHAT_METRICS_ADDR=off",
		"AGNTCHAT_PUBLIC_URL=http://" + addr, "AGNTCHAT_SECRET_KEY=" + secret.Generate(), "AGNTCHAT_PASSWORD_MEMORY_KIB=64", "AGNTCHAT_PASSWORD_PASSES=1",
	}, "http://" + addr
}

// TestM6_SIGTERMDrains: the shipped program tells sockets to come back (1012),
// finishes what it is answering, and ends with 0.
func TestM6_SIGTERMDrains(t *testing.T) {
	t.Parallel()
	env, base := serveEnv(t)
	server := apptest.Start(t, "agntchat serve", t.TempDir(), env, filepath.Join(apptest.Programs(t), "agntchat"), "serve")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := apptest.WaitReady(ctx, base, server.Done()); err != nil {
		t.Fatalf("%v\n%s", err, server.Output())
	}
	token, id := person(t, base)
	c := phxtest.Dial(t, base, phxtest.Options{Token: token})
	c.Join("user:"+id, map[string]any{})

	// A request whose body is still on its way when the signal comes.
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"locale":"de"}`
	if _, err := io.WriteString(conn, "PUT /api/me/locale HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+
		"\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"+body[:5]); err != nil {
		t.Fatal(err)
	}
	if code, _, err := apptest.Get(ctx, base+"/healthz"); err != nil || code != 200 { // the server has the head by now
		t.Fatal(code, err)
	}
	if err := server.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, reason := c.Closed(); code != 1012 {
		t.Errorf("the socket was closed with %d %q, want 1012: come back", code, reason)
	}
	if _, err := io.WriteString(conn, body[5:]); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		t.Errorf("the request in flight was answered %q, %v", answer, err)
	}
	if code, err := server.Wait(ctx); err != nil || code != 0 {
		t.Errorf("exit code %d, %v\n%s", code, err, server.Output())
	}
}

// TestM6_NotReadyWhileDraining: a load balancer sees 503 before the listener closes.
func TestM6_NotReadyWhileDraining(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	token, id := person(t, s.URL)
	// A socket that reads nothing holds the drain up.
	c := phxtest.Dial(t, s.URL, phxtest.Options{Token: token})
	c.Join("user:"+id, map[string]any{})
	c.Pause()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	seen := false
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !seen {
		code, body, err := apptest.Get(t.Context(), s.URL+"/readyz")
		if err != nil {
			break // the listener is closed
		}
		seen = code == http.StatusServiceUnavailable && strings.Contains(body, "draining")
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
	if !seen {
		t.Error("/readyz never said that the server drains")
	}
	c.Resume()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestM5_SchemaGatesTraffic: a server whose schema is not current neither opens
// its listener nor stays ready.
func TestM5_SchemaGatesTraffic(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	if code, body, err := apptest.Get(t.Context(), s.URL+"/readyz"); err != nil || code != 200 {
		t.Fatal(code, body, err)
	}
	if _, err := s.DB.Exec(t.Context(), `UPDATE schema_migrations SET version = version - 1`); err != nil {
		t.Fatal(err)
	}
	code, body, err := apptest.Get(t.Context(), s.URL+"/readyz")
	if err != nil || code != http.StatusServiceUnavailable || !strings.Contains(body, "schema") {
		t.Errorf("readyz with an old schema: %d %s %v", code, body, err)
	}
	if code, _, err := apptest.Get(t.Context(), s.URL+"/healthz"); err != nil || code != 200 {
		t.Errorf("healthz must only tell that the process lives: %d %v", code, err)
	}
	err = s.Restart(t.Context())
	if err == nil || !strings.Contains(err.Error(), "migrate up") {
		t.Errorf("a server with an old schema started: %v", err)
	}
	if _, _, err := apptest.Get(t.Context(), s.URL+"/healthz"); err == nil {
		t.Error("its listener was opened")
	}
}

// TestM2_MigrateRefusesATransactionPooler is decision 29, with the shipped program
// and a real pgbouncer.
func TestM2_MigrateRefusesATransactionPooler(t *testing.T) {
	t.Parallel()
	cfg := pgtest.Config(t)
	pooler := pgtest.PoolerURL(t, cfg)
	program := filepath.Join(apptest.Programs(t), "agntchat")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		says string
	}{
		"only the pooler is known":    {[]string{"DATABASE_URL=" + pooler}, []string{"migrate", "up"}, 1, "DATABASE_DIRECT_URL"},
		"the pooler is vouched for":   {[]string{"DATABASE_URL=" + pooler}, []string{"migrate", "up", "--direct"}, 1, "transaction-mode pooler"},
		"the pooler is called direct": {[]string{"DATABASE_DIRECT_URL=" + pooler}, []string{"migrate", "up"}, 1, "transaction-mode pooler"},
		"a direct address":            {[]string{"DATABASE_URL=" + pooler, "DATABASE_DIRECT_URL=" + cfg.DirectURL}, []string{"migrate", "up"}, 0, "up to date"},
		"status needs no session":     {[]string{"DATABASE_URL=" + pooler}, []string{"migrate", "status"}, 0, "up to date"},
		"nothing is known":            {nil, []string{"migrate", "up"}, 1, "DATABASE_DIRECT_URL"},
	} {
		p := apptest.Start(t, name, t.TempDir(), c.env, program, c.args...)
		code, err := p.Wait(ctx)
		if err != nil || code != c.code || !strings.Contains(p.Output(), c.says) {
			t.Errorf("%s: exit code %d, %v, want %d and %q in: %s", name, code, err, c.code, c.says, p.Output())
		}
	}
}
