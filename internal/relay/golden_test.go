package relay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/relay"
)

// golden is one captured exchange with the real relay (data of the contract).
type golden struct {
	Step     string          `json:"step"`
	Line     string          `json:"line"`
	Request  json.RawMessage `json:"request"`
	Status   int             `json:"status"`
	Response any             `json:"response"`
}

// TestL1_GoldenExchanges plays all 58 captured exchanges of the real client, as
// they are, against this relay. The clock stands where each was made, so that even
// the times of letters are equal to the last digit.
func TestL1_GoldenExchanges(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../wire/letter/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 58 {
		t.Fatalf("%d exchanges, want 58", len(all))
	}
	p := open(t, func(c *relay.Config, _ *letter.Limits) { c.Audiences = []string{"http://127.0.0.1:18766"} })
	for n, x := range all {
		method, path, _ := strings.Cut(x.Line, " ")
		p.set(timeOf(t, x))
		req, err := http.NewRequestWithContext(t.Context(), method, p.server.URL+path, bytes.NewReader(x.Request))
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("exchange %d (%s): %v in %s", n, x.Step, err, body)
		}
		if path == "/info" { // what we add, real clients do not read
			got = map[string]any{"max_group_size": got.(map[string]any)["max_group_size"]}
		}
		if res.StatusCode != x.Status || !reflect.DeepEqual(got, x.Response) || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("exchange %d (%s %s):\n got %d %v\nwant %d %v", n, x.Step, x.Line, res.StatusCode, got, x.Status, x.Response)
		}
	}
	// They cannot be played twice.
	for n, x := range all {
		if strings.HasPrefix(x.Line, "POST") {
			p.set(timeOf(t, x))
			p.refused(p.Post(t.Context(), []byte(x.Request), nil), 400, "replay detected: nonce already used")
			if t.Failed() {
				t.Fatalf("exchange %d was accepted twice", n)
			}
		}
	}
}

// timeOf is when the exchange was made: the time of the stored letter, or that of
// the signature.
func timeOf(t *testing.T, x golden) time.Time {
	t.Helper()
	if m, ok := x.Response.(map[string]any); ok && m["ts"] != nil {
		whole, frac := math.Modf(m["ts"].(float64))
		return time.Unix(int64(whole), int64(math.Round(frac*1e9)))
	}
	var in struct {
		Args struct{ Auth struct{ Timestamp string } }
	}
	if x.Request == nil || json.Unmarshal(x.Request, &in) != nil || in.Args.Auth.Timestamp == "" {
		return time.Unix(1796073400, 0)
	}
	sec, err := strconv.ParseInt(in.Args.Auth.Timestamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(sec, 0)
}
