package config_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/config"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"DATABASE_URL=postgres://u:hunter2@db/x", "AGNTCHAT_SECRET_KEY=topsecret", "AGNTCHAT_PUBLIC_URL=https://chat.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Missing()) != 0 || c.MessageLease.Seconds() != 600 {
		t.Fatalf("%v", c.Missing())
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("boot", slog.Any("config", c))
	if strings.Contains(b.String(), "hunter2") || strings.Contains(b.String(), "topsecret") {
		t.Fatalf("a secret in the log: %s", b.String())
	}
	if len(c.AllowedOrigins()) != 5 {
		t.Fatalf("%v", c.AllowedOrigins())
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, e := range []string{"AGNTCHAT_SIGNUP=maybe", "AGNTCHAT_MESSAGE_LEASE=-1s", "AGNTCHAT_PUBLIC_URL=chat.example.com", "AGNTCHAT_MESSAGE_LEASE=soon",
		"AGNTCHAT_POST_PER_SECOND=0", "AGNTCHAT_POST_BURST=0", "AGNTCHAT_DB_MAX_CONNS=0", "AGNTCHAT_FILES_QUOTA_MIB=-1", "AGNTCHAT_PRESENCE_GRACE=-1s",
		"AGNTCHAT_ORIGINS=app.example.com", "AGNTCHAT_ORIGINS=*", "AGNTCHAT_ORIGINS=https://a.example,https://b.example/path",
	} {
		name, _, _ := strings.Cut(e, "=")
		if _, err := config.Load([]string{e}); err == nil || !strings.Contains(err.Error(), name) {
			t.Fatalf("%s must be refused by name: %v", e, err)
		}
	}
	o, err := config.Load([]string{"AGNTCHAT_ORIGINS=https://a.example, https://*.b.example/"})
	if err != nil || !slices.Contains(o.AllowedOrigins(), "https://a.example") || !slices.Contains(o.AllowedOrigins(), "https://*.b.example") {
		t.Fatalf("origins as people write them: %q %v", o.AllowedOrigins(), err)
	}
	c, err := config.Load(nil)
	if err != nil || len(c.Missing()) != 3 {
		t.Fatalf("%v %v", c.Missing(), err)
	}
}

// TestL1_RelaySettings: ours outrank those of a retalk server, which count where
// ours are not set; the password is in no log.
func TestL1_RelaySettings(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{
		"RETALK_SERVER_AUDIENCE=https://a.example,https://b.example/r", "RETALK_SERVER_MAX_BODY=1", "AGNTCHAT_RELAY_MAX_BODY=2", "RETALK_SERVER_TIMEOUT=1.5",
		"RETALK_SERVER_REQUIRE_API_KEY=Yes", "RETALK_SERVER_RATE_LIMIT=7", "RETALK_SERVER_ADMIN_PASSWORD=hunter2",
	})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Relay
	if len(r.Audiences) != 2 || r.MaxBody != 2 || r.Timeout.Seconds() != 1.5 || !r.RequireAPIKey || r.Burst() != 7 || r.MaxMailbox != 1000 || r.LetterTTL.Hours() != 720 {
		t.Errorf("%+v", r)
	}
	for want, environ := range map[string][]string{
		"127.0.0.1:8766": nil, "0.0.0.0:8766": {"RETALK_SERVER_HOST=0.0.0.0"}, "127.0.0.1:9000": {"RETALK_SERVER_PORT=9000"}, "[::1]:9000": {"RETALK_SERVER_HOST=::1", "RETALK_SERVER_PORT=9000"},
		"10.0.0.1:1": {"RETALK_SERVER_PORT=9000", "AGNTCHAT_RELAY_ADDR=10.0.0.1:1"},
	} {
		if c, err := config.Load(environ); err != nil || c.Relay.Addr != want {
			t.Errorf("%v: %q, %v, want %s", environ, c.Relay.Addr, err, want)
		}
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("boot", slog.Any("config", c), slog.Any("relay", r))
	if strings.Contains(b.String(), "hunter2") {
		t.Errorf("a secret in the log: %s", b.String())
	}
	if c, err := config.Load(nil); err != nil || c.Relay.Burst() != 600 || c.Relay.RateLimit != 600 {
		t.Errorf("as delivered: %+v %v", c.Relay, err)
	}
	for _, e := range []string{"AGNTCHAT_RELAY=maybe", "AGNTCHAT_RELAY_MAX_BODY=0", "AGNTCHAT_RELAY_AUDIENCE=letters.example.com", "AGNTCHAT_RELAY_LEASE=0s"} {
		if _, err := config.Load([]string{e}); err == nil {
			t.Errorf("%s must be refused", e)
		}
	}
}
