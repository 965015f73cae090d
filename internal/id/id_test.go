package id_test

import (
	"encoding/json"
	"testing"

	"github.com/agntchat/agntchat/internal/id"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	m := id.New[id.Message]()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back id.Message
	if err := json.Unmarshal(b, &back); err != nil || back != m {
		t.Fatalf("got %v, %v", back, err)
	}
	if _, err := id.Parse[id.Message]("urn:uuid:" + m.String()); err == nil {
		t.Fatal("only the canonical form is an id")
	}
	if v, _ := (id.Message{}).Value(); v != nil {
		t.Fatal("zero is NULL")
	}
}
