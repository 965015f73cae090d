package letter_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/wire/letter"
)

type exchange struct {
	Request *struct {
		Tool string                     `json:"tool"`
		Args map[string]json.RawMessage `json:"args"`
	} `json:"request"`
	SignedText string `json:"signed_text"`
}

// TestL1_SignedTextOfGoldenExchanges: 56 signed calls of the real client, their
// texts rebuilt from the arguments and their signatures checked.
func TestL1_SignedTextOfGoldenExchanges(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	signed := 0
	for n, x := range all {
		if x.Request == nil {
			continue
		}
		var a letter.Auth
		if err := json.Unmarshal(x.Request.Args["auth"], &a); err != nil {
			t.Fatal(err)
		}
		args := map[string]any{}
		for k, v := range x.Request.Args {
			if k != "auth" {
				args[k] = decodeJSON(t, v)
			}
		}
		text, err := letter.SignedText(x.Request.Tool, "http://127.0.0.1:18766", a, args)
		if err != nil || string(text) != x.SignedText {
			t.Errorf("exchange %d: %v\n got %s\nwant %s", n, err, text, x.SignedText)
		}
		if got := letter.Address(a.IdentityKey, a.SigningKey); got != a.Fingerprint || !letter.IsAddress(got) {
			t.Errorf("exchange %d: address %s, want %s", n, got, a.Fingerprint)
		}
		if ok, err := letter.Verify(a.SigningKey, text, a.Signature); err != nil || !ok {
			t.Errorf("exchange %d: signature %v %v", n, ok, err)
		}
		signed++
	}
	if len(all) != 58 || signed != 56 {
		t.Errorf("%d exchanges, %d signed: want 58 and 56", len(all), signed)
	}
}

func decodeJSON(t *testing.T, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// pythonDumps reads one JSON value a line and answers the canonical form as Python writes it.
const pythonDumps = `import json,sys
for line in sys.stdin:
    sys.stdout.write(json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")) + "\n")
`

// TestL1_CanonicalJSONIsPythons writes random values (printed seed) and lets
// Python's json module canonicalise the same text.
func TestL1_CanonicalJSONIsPythons(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var in bytes.Buffer
	var ours [][]byte
	for range 5000 {
		text, err := json.Marshal(randomValue(r, 0))
		if err != nil {
			t.Fatal(err)
		}
		got, err := letter.Canonical(decodeJSON(t, text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		ours = append(ours, got)
		in.Write(append(text, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", pythonDumps)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("/usr/bin/python3 is needed (apt-get install -y python3): %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	n := 0
	for ; lines.Scan(); n++ {
		if n < len(ours) && !bytes.Equal(lines.Bytes(), ours[n]) {
			t.Fatalf("value %d:\n ours   %s\n python %s", n, ours[n], lines.Bytes())
		}
	}
	if n != len(ours) {
		t.Fatalf("python answered %d of %d", n, len(ours))
	}
}

func randomValue(r *rand.Rand, depth int) any {
	kind := r.IntN(10)
	if depth > 4 {
		kind = r.IntN(8)
	}
	switch kind {
	case 0:
		return []any{nil, true, false}[r.IntN(3)]
	case 1:
		return r.Int64() >> r.IntN(64)
	case 2:
		return json.Number(fmt.Sprintf("-%d%018d", 1+r.Uint64()>>1, r.Uint64N(1e18)))
	case 3:
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0.1
		}
		return f
	case 4:
		return json.Number([]string{"1.0", "-0", "-0.0", "1E5", "1e16", "9999999999999998.0", "1e-4", "0.00001", "123456789012345680.0", "1.5e300", "5e-324", "0e5", "100e-2"}[r.IntN(13)])
	case 5:
		return json.Number(fmt.Sprintf("%d.%de%d", r.IntN(1000), r.IntN(100000), r.IntN(40)-20))
	case 6, 7:
		return randomString(r)
	case 8:
		list := make([]any, r.IntN(6))
		for n := range list {
			list[n] = randomValue(r, depth+1)
		}
		return list
	default:
		m := map[string]any{}
		for range r.IntN(6) {
			m[randomString(r)] = randomValue(r, depth+1)
		}
		return m
	}
}

func randomString(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		var c rune
		switch r.IntN(5) {
		case 0:
			c = rune(r.IntN(0x20))
		case 1:
			c = []rune("\"\\/<>&\x7f\u0080\u2028\uffff\ufeff\U00010000\U0010ffff")[r.IntN(13)]
		case 2:
			c = rune(r.IntN(0x110000))
		default:
			c = rune(0x20 + r.IntN(0x60))
		}
		if utf8.ValidRune(c) {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func TestL1_CanonicalRefusesWhatHasNoForm(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 300 {
		deep = []any{deep}
	}
	for _, v := range []any{math.NaN(), math.Inf(1), "\xff", json.Number("1e999"), json.Number(""), json.Number("NaN"), json.Number(strings.Repeat("9", 5000)), deep, struct{}{}, map[string]any{"\xff": 1}} {
		if b, err := letter.Canonical(v); err == nil {
			t.Errorf("%T: no error, but %.40s", v, b)
		}
	}
	if h, err := letter.ArgsHash(map[string]any{}); err != nil || !strings.HasPrefix(h, "44136fa3") {
		t.Errorf("hash of no arguments: %s %v", h, err)
	}
}

// FuzzCanonical: the form is stable (canonicalising it again changes nothing),
// ASCII, and means the same.
func FuzzCanonical(f *testing.F) {
	f.Add(`{"b":[1,2.50,"\u00e9😀"],"a":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		read := func(text string) (v any, ok bool) {
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			return v, dec.Decode(&v) == nil
		}
		v, ok := read(text)
		if !ok {
			return
		}
		once, err := letter.Canonical(v)
		if err != nil {
			return
		}
		again, ok := read(string(once))
		if !ok {
			t.Fatalf("not JSON: %s", once)
		}
		twice, err := letter.Canonical(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
		for _, c := range once {
			if c < 0x20 || c >= 0x7f {
				t.Fatalf("byte %#x in %s", c, once)
			}
		}
	})
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func TestL1_SignAndVerify(t *testing.T) {
	t.Parallel()
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := letter.Auth{Fingerprint: "f", Timestamp: "1", Nonce: "n", SigningKey: base64.RawStdEncoding.EncodeToString(pub)}
	if err := a.Sign(key, letter.ToolGetKeys, "http://r", map[string]any{"peer": "ö"}); err != nil {
		t.Fatal(err)
	}
	text, err := letter.SignedText(letter.ToolGetKeys, "http://r", a, map[string]any{"peer": "ö"})
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []string{a.Signature, a.Signature + "=="} {
		if ok, err := letter.Verify(a.SigningKey, text, sig); !ok || err != nil {
			t.Errorf("%s: %v %v", sig, ok, err)
		}
	}
	if ok, _ := letter.Verify(a.SigningKey, append(text, 'x'), a.Signature); ok {
		t.Error("another text verifies")
	}
	if _, err := letter.Verify("short", text, a.Signature); err == nil {
		t.Error("a key that is none is accepted")
	}
	// As strict as the clients' own library: one key has one text, and a signature two.
	loose := func(s string) []string {
		last := strings.IndexByte(alphabet, s[len(s)-1])
		return []string{s[:len(s)-1] + string(alphabet[last+1]), s + "\n", s[:9] + "\r\n" + s[9:], s + "===", s + " ", strings.ReplaceAll(s, s[:1], "-")}
	}
	for _, s := range loose(a.SigningKey) {
		if _, err := letter.Verify(s, text, a.Signature); err == nil || letter.IsKey(s) {
			t.Errorf("%q is a key", s)
		}
	}
	for _, s := range append(loose(a.Signature), a.Signature+"=") {
		if ok, err := letter.Verify(a.SigningKey, text, s); ok || err == nil {
			t.Errorf("%q is a signature", s)
		}
	}
	if letter.IsAddress(strings.Repeat("A", 32)) || letter.IsHash("ab") || letter.IsKey(a.SigningKey+"=") || !letter.IsKey(a.SigningKey) {
		t.Error("forms")
	}
}
