package secret_test

import (
	"bytes"
	"testing"

	"github.com/agntchat/agntchat/internal/secret"
)

func ring(t *testing.T, s string) *secret.Ring {
	t.Helper()
	r, err := secret.ParseRing(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestB8_SealOpenRotate(t *testing.T) {
	t.Parallel()
	oldKey, newKey := secret.Generate(), secret.Generate()
	box := ring(t, oldKey).Seal("llm_key:1", []byte("sk-secret"))
	if bytes.Contains(box, []byte("sk-secret")) {
		t.Fatal("plain text in the box")
	}
	plain, stale, err := ring(t, newKey+","+oldKey).Open("llm_key:1", box)
	if err != nil || string(plain) != "sk-secret" || !stale {
		t.Fatalf("rotated ring: %q %v %v", plain, stale, err)
	}
	if _, _, err := ring(t, oldKey).Open("llm_key:2", box); err == nil {
		t.Fatal("moved to another row it must not open")
	}
	if _, _, err := ring(t, newKey).Open("llm_key:1", box); err == nil {
		t.Fatal("unknown key must not open")
	}
	for n := range box {
		bad := bytes.Clone(box)
		bad[n] ^= 1
		if _, _, err := ring(t, oldKey).Open("llm_key:1", bad); err == nil {
			t.Fatalf("altered byte %d must not open", n)
		}
	}
	if _, err := secret.ParseRing("short"); err == nil {
		t.Fatal("a short key is refused")
	}
}
