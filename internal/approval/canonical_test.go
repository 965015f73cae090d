package approval_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
)

// TestS1_CanonicalForm: the same value has one text, whatever way it was written;
// the examples of RFC 8785 are among the rows.
func TestS1_CanonicalForm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                               `{}`,
		` { "b" : 1 , "a" : 2 }`:           `{"a":2,"b":1}`,
		`{"a":{"z":[],"y":null},"A":true}`: `{"A":true,"a":{"y":null,"z":[]}}`,
		`[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`: `[333333333.3333333,1e+30,4.5,0.002,1e-27]`,
		`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`:                       `"€$\u000f\nA'B\"\\\\\"/"`,
		`"\b\t\f\r\u007f\u0000<&>"`:                                             "\"\\b\\t\\f\\r\u007f\\u0000<&>\"",
		`[-0, -0.0, 0e5, 1.0, 1e2, 100, 1e21, 123456789012345678901234567890]`:  `[0,0,0,1,100,100,1e+21,123456789012345678901234567890]`,
		// RFC 8785 3.2.3: by UTF-16 code units, so a surrogate pair stands before U+FB33.
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew","1":"One","\ud83d\ude00":"Emoji","\u0080":"Control","\u00f6":"o"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"o\",\"€\":\"Euro Sign\",\"😀\":\"Emoji\",\"\ufb33\":\"Hebrew\"}",
	} {
		got, err := approval.Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s %v\nwant %s", in, got, err, want)
		}
		if again, err := approval.Canonical(got); err != nil || string(again) != string(got) {
			t.Errorf("canonical of canonical: %s %v", again, err)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00"`, `"\ud800x"`, "\"\xff\"", `1e999`, `{} {}`, `[1,]`, `nul`,
		`{"a" 1}`, strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		if got, err := approval.Canonical([]byte(in)); err == nil {
			t.Errorf("%.40q is accepted as %s", in, got)
		}
	}
}

// TestS1_HashIsOfTheExactAction: one changed byte, one changed digit behind 2^53,
// another tool: another hash. Another order of keys is the same action.
func TestS1_HashIsOfTheExactAction(t *testing.T) {
	t.Parallel()
	make := func(tool, input string) approval.Action {
		t.Helper()
		a, err := approval.NewAction(tool, json.RawMessage(input))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := make("Bash", `{"command":"rm -rf /tmp/a","timeout":9007199254740993}`)
	if sum := sha256.Sum256([]byte(`{"input":{"command":"rm -rf /tmp/a","timeout":9007199254740993},"tool":"Bash"}`)); a.Hash != hex.EncodeToString(sum[:]) {
		t.Errorf("hash of %s is %s", a.Text, a.Hash)
	}
	if b := make("Bash", ` {"timeout":9007199254740993, "command":"rm -rf \/tmp/\u0061"}`); b != a {
		t.Errorf("the same action differs: %v", b)
	}
	for _, other := range []approval.Action{
		make("Bash", `{"command":"rm -rf /tmp/b","timeout":9007199254740993}`), make("Bash", `{"command":"rm -rf /tmp/a","timeout":9007199254740992}`),
		make("bash", `{"command":"rm -rf /tmp/a","timeout":9007199254740993}`), make("Bash", `{"command":"rm -rf /tmp/a ","timeout":9007199254740993}`),
		make("Bash", `{"command":"rm -rf /tmp/a","timeout":9007199254740993,"x":null}`), make("Bash", `{}`),
	} {
		if other.Hash == a.Hash {
			t.Errorf("%s has the hash of %s", other.Text, a.Text)
		}
	}
	if got := string(approval.Input(a.Text)); got != `{"command":"rm -rf /tmp/a","timeout":9007199254740993}` {
		t.Errorf("input %s", got)
	}
	if e := make("x", ``); e.Text != `{"input":{},"tool":"x"}` {
		t.Errorf("no input: %s", e.Text)
	}
	for _, in := range []string{`[]`, `"x"`, `{"a":1,"a":2}`, `{"a":` + strings.Repeat("2", 310) + `}`, `{"a":"` + strings.Repeat("x", approval.MaxAction) + `"}`} {
		if _, err := approval.NewAction("Bash", json.RawMessage(in)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%.30s: %v", in, err)
		}
	}
}

func FuzzS1_Canonical(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x\u0000"],"b":{}}`))
	f.Add([]byte(`"\ud83d\ude00"`))
	f.Add([]byte(strings.Repeat("2", 310)))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := approval.Canonical(in)
		if err != nil {
			return
		}
		var before, after any
		if json.Unmarshal(in, &before) != nil || json.Unmarshal(got, &after) != nil {
			t.Fatalf("%q became %q", in, got)
		}
		again, err := approval.Canonical(got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q is not stable: %q, %v", got, again, err)
		}
	})
}
