package relay

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// FuzzCall takes any body apart as far as a signature check needs: it is refused
// with a text, or it is a known tool with arguments that can be signed.
func FuzzCall(f *testing.F) {
	f.Add([]byte(`{"tool":"send_message","args":{"to":"x","mtype":1,"body":"y","auth":{"fingerprint":"f","identity_key":"i","signing_key":"s","timestamp":1,"nonce":"n","signature":"g"}}}`))
	f.Add([]byte(`{"tool":"publish_keys","args":{"one_time_keys":{"a":"b","a":"c"},"identity_key":"","signing_key":"\ud83d\ude00"}}`))
	f.Add([]byte(`{"tool":"read_messages","args":{"peek":1e400}}`))
	r := New(Config{MaxBody: 1 << 16, Address: func(*http.Request) string { return "" }})
	f.Fuzz(func(t *testing.T, body []byte) {
		name, args, err := r.read(httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
		var no *refusalError
		if err != nil && (!errors.As(err, &no) || no.text == "") {
			t.Fatalf("not refused, but %v", err)
		}
		tool, known := tools[name]
		if err != nil || !known {
			return
		}
		if _, err := authOf(tool, args); err != nil && !errors.As(err, &no) {
			t.Fatal(err)
		}
		delete(args, "auth")
		if tool.check(args) != nil {
			return
		}
		signed, err := tool.signed(args)
		if err != nil {
			if !errors.As(err, &no) {
				t.Fatal(err)
			}
			return
		}
		if _, err := wire.ArgsHash(signed); err != nil && !errors.Is(err, wire.ErrNotCanonical) {
			t.Fatal(err)
		}
		_, _ = keysInOrder(args["one_time_keys"])
	})
}
