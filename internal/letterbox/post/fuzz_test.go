package post_test

import (
	"encoding/json"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/post"
)

// FuzzEnvelope: whatever is inside a letter is an envelope or none.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{`{"id":"1","kind":"msg","text":"x","name":"n","group":{"id":"g","name":"n","members":["a"]},"mid":"m"}`, `{"id":"1","kind":"contact","card":{"fingerprint":"x"}}`, `null`, `[]`, `{"id":1}`, ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if post.DecodeEnvelope(b) && !json.Valid(b) {
			t.Fatalf("%q is an envelope", b)
		}
	})
}

// FuzzLine: a line is valid ASCII JSON whatever a peer chose, and reads back as what it was.
func FuzzLine(f *testing.F) {
	f.Add("id", "name", "text ☃\x00\xff\u2028")
	f.Fuzz(func(t *testing.T, id, name, text string) {
		line := post.Letter{ID: id, Kind: post.Chat, From: "f", Name: name, Text: text}.Line()
		var got struct{ ID, Name, Text string }
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, c := range line {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("%q", line)
			}
		}
		for want, have := range map[string]string{id: got.ID, name: got.Name, text: got.Text} {
			if have != string([]rune(want)) { // each byte that is not UTF-8 becomes U+FFFD
				t.Fatalf("%q became %q", want, have)
			}
		}
	})
}
