package app_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	"github.com/agntchat/agntchat/internal/wire"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// report is what a bridge says of an identity.
func report(agentID string, u *relaytest.User, relay string) map[string]any {
	sig := ed25519.Sign(u.Key, letter.AddressText(agentID, u.Address, relay))
	return map[string]any{
		"fingerprint": u.Address, "identityKey": u.IdentityKey, "signingKey": u.SigningKey, "relayUrl": relay, "signature": base64.RawStdEncoding.EncodeToString(sig),
	}
}

const relayHere = "https://letters.example.com/relay"

// TestL2_LetterAddressOfAnAgent: an agent reports its own address, which proves itself; whoever sees the agent sees it; a change is
// told and stays to be seen.
func TestL2_LetterAddressOfAnAgent(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	owner, ownerID := person(t, s.URL)
	mate, mateID := person(t, s.URL)
	stranger, _ := person(t, s.URL)
	var made struct{ ID, APIKey string }
	call(t, s.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Nova", "runtime": "local"}, 201, &made)
	call(t, s.URL, owner, "POST", "/api/conversations", map[string]any{"type": "group", "title": "Room", "memberIds": []string{mateID, made.ID}}, 201, nil)
	var in struct{ Token string }
	call(t, s.URL, "", "POST", "/api/auth/agent-token", map[string]any{"agent_id": made.ID, "api_key": made.APIKey}, 200, &in)
	page := "/api/agents/" + made.ID + "/letter-address"
	look := func(token string) (out wire.LetterAddresses) {
		t.Helper()
		call(t, s.URL, token, "GET", page, nil, 200, &out)
		return out
	}
	if got := look(owner); got.LetterAddress != nil || got.Former == nil || len(got.Former) != 0 {
		t.Fatalf("%+v", got)
	}
	one, two := relaytest.NewUser(), relaytest.NewUser()
	good := report(made.ID, one, relayHere)
	but := func(field string, value any) map[string]any {
		m := map[string]any{}
		for k, v := range good {
			m[k] = v
		}
		m[field] = value
		return m
	}
	for field, bad := range map[string]map[string]any{
		"fingerprint": but("fingerprint", two.Address), "identityKey": but("identityKey", one.IdentityKey+"="), "signingKey": but("signingKey", "short"),
		"signature": but("signature", report(ownerID, one, relayHere)["signature"]), "relayUrl": but("relayUrl", "http://letters.example.com"),
	} {
		status, answer, err := request(t.Context(), s.URL, in.Token, "PUT", "/api/agents/me/letter-address", text(bad))
		if err != nil || status != 422 || !strings.Contains(answer, `"`+field+`"`) {
			t.Errorf("%s: %d %s %v", field, status, answer, err)
		}
	}
	for _, relay := range []string{"", "relay", "ftp://x.example", "https://user:secret@x.example", "https://x.example/?q", "https://x.example/#f", "https://" + strings.Repeat("x", 2050), "http://10.0.0.1", "javascript:alert(1)", "https://x.example/$(touch x)", "https://x.example/'; x"} {
		call(t, s.URL, in.Token, "PUT", "/api/agents/me/letter-address", report(made.ID, one, relay), 422, nil)
	}
	// Somebody else's report, of this agent, is worth nothing.
	call(t, s.URL, owner, "PUT", "/api/agents/me/letter-address", good, 403, nil)
	if got := look(owner); got.LetterAddress != nil {
		t.Fatalf("%+v", got)
	}

	watch := phxtest.Dial(t, s.URL, phxtest.Options{Token: owner}).Join("user:"+ownerID, map[string]any{})
	told := func() {
		t.Helper()
		watch.Expect("agent_updated")
	}
	call(t, s.URL, in.Token, "PUT", "/api/agents/me/letter-address", good, 200, nil)
	told()
	for _, token := range []string{owner, mate, in.Token} {
		got := look(token)
		if a := got.LetterAddress; a == nil || a.Fingerprint != one.Address || a.IdentityKey != one.IdentityKey || a.SigningKey != one.SigningKey || a.RelayURL != relayHere || len(got.Former) != 0 {
			t.Fatalf("%+v", got)
		}
	}
	call(t, s.URL, stranger, "GET", page, nil, 404, nil)
	since := look(owner).LetterAddress.Since

	// Reported again, and moved to another relay: the same address.
	call(t, s.URL, in.Token, "PUT", "/api/agents/me/letter-address", good, 200, nil)
	call(t, s.URL, in.Token, "PUT", "/api/agents/me/letter-address", report(made.ID, one, "http://127.0.0.1:8766"), 200, nil)
	told()
	if got := look(mate); got.LetterAddress.RelayURL != "http://127.0.0.1:8766" || got.LetterAddress.Since != since || len(got.Former) != 0 {
		t.Fatalf("%+v", got)
	}
	// Other keys: the one before is shown with the date.
	call(t, s.URL, in.Token, "PUT", "/api/agents/me/letter-address", report(made.ID, two, relayHere), 200, nil)
	told()
	if got := look(mate); got.LetterAddress.Fingerprint != two.Address || len(got.Former) != 1 || got.Former[0].Fingerprint != one.Address || got.Former[0].Since != since {
		t.Fatalf("%+v", got)
	}
	call(t, s.URL, in.Token, "DELETE", "/api/agents/me/letter-address", nil, 200, nil)
	told()
	call(t, s.URL, in.Token, "DELETE", "/api/agents/me/letter-address", nil, 200, nil)
	if got := look(mate); got.LetterAddress != nil || len(got.Former) != 2 || got.Former[0].Fingerprint != two.Address {
		t.Fatalf("%+v", got)
	}
	// Bounded: twenty are remembered.
	for range 25 {
		call(t, s.URL, in.Token, "PUT", "/api/agents/me/letter-address", report(made.ID, relaytest.NewUser(), relayHere), 200, nil)
	}
	if got := look(owner); got.LetterAddress == nil || len(got.Former) != 19 {
		t.Fatalf("%d", len(got.Former))
	}
	if n := s.Count(t, `SELECT count(*) FROM agent_letter_addresses WHERE agent_id = $1::uuid`, made.ID); n != 20 {
		t.Fatalf("%d rows", n)
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(b)
}

// TestL2_BridgeKeepsALetterIdentity: with --letters our bridge makes an identity in the agent's folder, publishes its keys, and
// reports the public part only; somebody else's `agnt letter` verifies the address and writes to it; off again takes it away.
func TestL2_BridgeKeepsALetterIdentity(t *testing.T) {
	t.Parallel()
	p := apptest.Process(t)
	owner, _ := person(t, p.URL)
	var made struct{ ID, APIKey string }
	call(t, p.URL, owner, "POST", "/api/agents", map[string]any{"displayName": "Nova", "runtime": "local"}, 201, &made)
	home := t.TempDir()
	agnt := filepath.Join(apptest.Programs(t), "agnt")
	bridge := func(flags ...string) *apptest.Child {
		return apptest.Start(t, "agnt bridge", home, []string{"AGENT_API_KEY=" + made.APIKey, "AGNT_HOME=" + home}, agnt,
			append([]string{"bridge", "--url", p.URL, "--agent-id", made.ID, "--backend", "scripted"}, flags...)...)
	}
	b := bridge("--letters")
	if _, err := b.WaitOutput(t.Context(), "the agent has a letter address"); err != nil {
		t.Fatalf("%v\n%s", err, b.Output())
	}
	page := "/api/agents/" + made.ID + "/letter-address"
	var got wire.LetterAddresses
	call(t, p.URL, owner, "GET", page, nil, 200, &got)
	a := got.LetterAddress
	if a == nil || letter.Address(a.IdentityKey, a.SigningKey) != a.Fingerprint || a.RelayURL != p.URL+"/relay" {
		t.Fatalf("%+v", got)
	}
	letters := func(args ...string) string {
		t.Helper()
		c := apptest.Start(t, "agnt letter", home, []string{"RETALK_HOME=" + filepath.Join(home, "person"), "RETALK_RELAY=" + a.RelayURL}, agnt, append([]string{"letter"}, args...)...)
		if code, err := c.Wait(t.Context()); err != nil || code != 0 {
			t.Fatalf("agnt letter %q: %d %v\n%s", args, code, err, c.Output())
		}
		return c.Output()
	}
	letters("init", "-u", "ada", "-np")
	if out := letters("add", a.Fingerprint, "--peer", "nova", "--verify", "-u", "ada"); strings.Contains(out, "MISMATCH") {
		t.Fatal(out)
	}
	letters("send", "for nobody else", "--peer", "nova", "-u", "ada")
	dir := filepath.Join(home, "agents", made.ID, "letters")
	if out := letters("receive", "--all", "--dir", dir); !strings.Contains(out, "for nobody else") {
		t.Fatal(out)
	}
	// Nothing but the public part reached the server.
	var row string
	if err := p.DB.QueryRow(t.Context(), `SELECT string_agg(x::text, '|') FROM agent_letter_addresses x`).Scan(&row); err != nil || len(row) > 400 {
		t.Errorf("%s %v", row, err)
	}
	stop := func() {
		t.Helper()
		if err := b.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code, err := b.Wait(t.Context()); err != nil || code != 0 {
			t.Fatalf("%d %v\n%s", code, err, b.Output())
		}
	}
	stop()
	// Started again: the same identity.
	b = bridge("--letters")
	if _, err := b.WaitOutput(t.Context(), "the agent has a letter address"); err != nil {
		t.Fatalf("%v\n%s", err, b.Output())
	}
	stop()
	call(t, p.URL, owner, "GET", page, nil, 200, &got)
	if got.LetterAddress == nil || got.LetterAddress.Fingerprint != a.Fingerprint || len(got.Former) != 0 {
		t.Fatalf("%+v", got)
	}
	// Turned off.
	b = bridge()
	if _, err := b.WaitOutput(t.Context(), "the agent has no letter address any more"); err != nil {
		t.Fatalf("%v\n%s", err, b.Output())
	}
	stop()
	got = wire.LetterAddresses{}
	call(t, p.URL, owner, "GET", page, nil, 200, &got)
	if got.LetterAddress != nil || len(got.Former) != 1 {
		t.Fatalf("%+v", got)
	}
}
