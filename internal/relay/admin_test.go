package relay_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/relay"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// admin asks the admin address as a program with a password does.
func (p *place) admin(method, path, password, body string, header ...string) (int, string, http.Header) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.ctx(), method, p.URL+path, strings.NewReader(body))
	p.ok(err)
	if password != "" {
		req.SetBasicAuth("any name", password)
	}
	for n := 0; n+1 < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	res, err := p.HTTP.Do(req)
	p.ok(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	p.ok(err)
	return res.StatusCode, string(b), res.Header
}

func withPassword(c *relay.Config, _ *letter.Limits) { c.AdminPassword = "open sesame" }

// TestL1_AdminWithoutPasswordIsNotThere (letters.md 6.1 admin_api_keys).
func TestL1_AdminWithoutPasswordIsNotThere(t *testing.T) {
	t.Parallel()
	p := open(t)
	for _, method := range []string{"GET", "POST"} {
		if code, body, _ := p.admin(method, "/x/admin", "", `{"action":"list"}`); code != 404 || body != `{"error":"not found"}` {
			t.Errorf("%s: %d %s", method, code, body)
		}
	}
}

// TestL1_AdminAndAPIKeys: the whole life of a key, its admission, and a page that
// does not show it.
func TestL1_AdminAndAPIKeys(t *testing.T) {
	t.Parallel()
	p := open(t, withPassword, func(c *relay.Config, _ *letter.Limits) { c.RequireAPIKey = true })
	for _, password := range []string{"", "wrong"} {
		code, body, h := p.admin("POST", "/admin", password, `{"action":"list"}`)
		if code != 401 || body != `{"error":"admin auth required"}` || h.Get("WWW-Authenticate") != `Basic realm="retalk admin"` {
			t.Errorf("%q: %d %s %v", password, code, body, h)
		}
	}
	do := func(body string, out any) {
		t.Helper()
		code, got, _ := p.admin("POST", "/any/prefix/admin/", "open sesame", body)
		if code != 200 {
			t.Fatalf("%s: %d %s", body, code, got)
		}
		p.ok(json.Unmarshal([]byte(got), out))
	}
	var key wire.NewAPIKey
	do(`{"action":"create","label":"<b>laptop</b>"}`, &key)
	if len(key.Key) != 43 || len(key.KeyHash) != 64 || key.Label != "<b>laptop</b>" {
		t.Errorf("created %+v", key)
	}
	var list wire.APIKeys
	do(`{"action":"list"}`, &list)
	if len(list.Keys) != 1 || list.Keys[0] != (wire.APIKey{KeyHash: key.KeyHash, Label: key.Label, Created: 1_800_000_000.25}) {
		t.Errorf("list: %+v", list)
	}
	code, page, h := p.admin("GET", "/admin", "open sesame", "")
	if code != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/html") || !strings.Contains(page, key.KeyHash) || strings.Contains(page, key.Key) || strings.Contains(page, "<b>laptop") {
		t.Errorf("page: %d %s", code, page)
	}
	for body, want := range map[string]string{
		`{"action":"explode"}`: "unknown admin action: explode", `{}`: "unknown admin action: ", `[`: "not a JSON object",
		`{"action":"create","label":"` + strings.Repeat("x", 201) + `"}`: "label",
	} {
		if code, got, _ := p.admin("POST", "/admin", "open sesame", body); code != 400 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", body, code, got)
		}
	}
	if code, _, _ := p.admin("POST", "/admin", "open sesame", `{"action":"list"}`, "Sec-Fetch-Site", "cross-site"); code != 403 {
		t.Errorf("a page of another site: %d", code)
	}

	u := p.keyed(http.Header{"Authorization": {"Bearer " + key.Key}})
	x := p.keyed(http.Header{"X-Retalk-Key": {key.Key}})
	wrong := p.keyed(http.Header{"Authorization": {"Bearer nope"}, "X-Retalk-Key": {key.Key}}) // Bearer counts when there is one
	p.ok(u())
	p.ok(x())
	p.refused(wrong(), 401, "valid API key required to use this relay")
	p.refused(p.keyed(nil)(), 401, "API key")
	p.refused(p.Post(p.ctx(), []byte("{"), nil), 401, "API key") // before the body is looked at
	var updated wire.Updated
	do(`{"action":"disable","key_hash":"`+key.KeyHash+`"}`, &updated)
	p.refused(u(), 401, "API key")
	if updated.Updated != 1 {
		t.Errorf("disable: %+v", updated)
	}
	do(`{"action":"enable","key_hash":"`+key.KeyHash+`"}`, &updated)
	p.ok(u())
	do(`{"action":"enable","key_hash":"nobody"}`, &updated)
	var deleted wire.Deleted
	do(`{"action":"delete","key_hash":"`+key.KeyHash+`"}`, &deleted)
	p.refused(u(), 401, "API key")
	if updated.Updated != 0 || deleted.Deleted != 1 {
		t.Errorf("unknown: %+v, delete: %+v", updated, deleted)
	}
	do(`{"action":"delete","key_hash":"`+key.KeyHash+`"}`, &deleted)
	if deleted.Deleted != 0 {
		t.Errorf("deleted again: %+v", deleted)
	}
	var kept int // the key itself is nowhere
	p.ok(p.db.QueryRow(p.ctx(), `SELECT count(*) FROM letter_api_keys AS k WHERE k::text LIKE '%' || $1 || '%'`, key.Key).Scan(&kept))
	if kept != 0 {
		t.Error("a key is stored in the clear")
	}
}

// keyed calls the relay with the given headers.
func (p *place) keyed(h http.Header) func() error {
	r := *p.Relay
	r.Header = h
	return func() error { return r.Call(p.ctx(), p.anybody(), "count_keys", map[string]any{}, nil) }
}

// TestL1_APIKeysCountWithoutAdmin: keys stay in force when /admin is off.
func TestL1_APIKeysCountWithoutAdmin(t *testing.T) {
	t.Parallel()
	p := open(t, withPassword)
	_, body, _ := p.admin("POST", "/admin", "open sesame", `{"action":"create"}`)
	var key wire.NewAPIKey
	p.ok(json.Unmarshal([]byte(body), &key))
	p.ok(p.keyed(nil)()) // keys are asked for only where they are required
	q := openOn(t, p.db, func(c *relay.Config, _ *letter.Limits) { c.RequireAPIKey = true })
	q.ok(q.keyed(http.Header{"Authorization": {"bearer " + key.Key}})())
	q.refused(q.keyed(nil)(), 401, "API key")
	if code, _, _ := q.admin("GET", "/info", "", ""); code != 200 {
		t.Errorf("info is public: %d", code)
	}
}
