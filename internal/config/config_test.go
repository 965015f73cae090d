package config_test

import (
	"bytes"
	"log/slog"
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
	for _, e := range []string{"AGNTCHAT_SIGNUP=maybe", "AGNTCHAT_MESSAGE_LEASE=-1s", "AGNTCHAT_PUBLIC_URL=chat.example.com", "AGNTCHAT_MESSAGE_LEASE=soon"} {
		if _, err := config.Load([]string{e}); err == nil {
			t.Fatalf("%s must be refused", e)
		}
	}
	c, err := config.Load(nil)
	if err != nil || len(c.Missing()) != 3 {
		t.Fatalf("%v %v", c.Missing(), err)
	}
}
