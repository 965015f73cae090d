package flow_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/secret"
)

// disconnects records whose sockets were closed.
type disconnects struct {
	mu   sync.Mutex
	list []string
}

func (d *disconnects) DisconnectParticipant(p id.Participant, _ string) { d.add(p.String()) }
func (d *disconnects) DisconnectSession(s id.Session, _ string)         { d.add(s.String()) }

func (d *disconnects) add(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, s)
}

func (d *disconnects) has(s string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.list {
		if v == s {
			return true
		}
	}
	return false
}

func newIdentity(t *testing.T) (*flow.Identity, *disconnects) {
	t.Helper()
	ring, err := secret.ParseRing(secret.Generate())
	if err != nil {
		t.Fatal(err)
	}
	d := &disconnects{}
	return flow.NewIdentity(pgtest.DB(t), ring, account.NewHasher(64, 1, 2), flow.SignupOpen, d, slog.New(slog.DiscardHandler)), d
}

func ada() flow.SignUp {
	return flow.SignUp{Email: "Ada@example.com", Password: "Correct-Horse-7", FirstName: "Ada", LastName: "Lovelace", AcceptedTerms: true, BirthDate: "1990-12-10", Address: "192.0.2.1"}
}

func TestW1_SignUpMakesPersonalWorkspace(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	s, err := i.SignUp(ctx, ada())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Self.Workspaces) != 1 || !s.Self.Workspaces[0].IsPersonal || s.Self.Workspaces[0].Role != "owner" || s.Self.Account.ActiveOrganizationID != s.Self.Workspaces[0].OrganizationID {
		t.Fatalf("workspaces: %+v", s.Self.Workspaces)
	}
	if s.Self.Participant.DisplayName != "Ada Lovelace" || !s.Self.Account.PlatformAdmin {
		t.Fatalf("self: %+v", s.Self)
	}
	again := ada()
	again.Email = "ada@EXAMPLE.com"
	if _, err := i.SignUp(ctx, again); !fault.Is(err, "email_taken") {
		t.Fatalf("same address in other case: %v", err)
	}
	actor, err := i.Authenticate(ctx, s.Token)
	if err != nil || actor.Kind != access.Person || actor.ID != s.Self.Account.ID {
		t.Fatalf("%+v %v", actor, err)
	}
}

func TestW3_SignInNeverSays401AndCountsOnlyFailures(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	if _, err := i.SignUp(ctx, ada()); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if _, err := i.SignIn(ctx, "ada@example.com", "Correct-Horse-7", "", "192.0.2.2"); err != nil {
			t.Fatalf("a right password is never limited: %v", err)
		}
	}
	for n := range 25 {
		_, err := i.SignIn(ctx, "ada@example.com", "wrong", "", "192.0.2.3")
		switch {
		case fault.KindOf(err) == fault.Unauthenticated:
			t.Fatal("a wrong password must not look like a dead session")
		case n < 20 && !fault.Is(err, "invalid_credentials"), n > 20 && !fault.Is(err, "rate_limited"):
			t.Fatalf("attempt %d: %v", n, err)
		}
	}
	_, unknown := i.SignIn(ctx, "nobody@example.com", "x", "", "192.0.2.4")
	if !fault.Is(unknown, "invalid_credentials") {
		t.Fatalf("an unknown address looks like a wrong password: %v", unknown)
	}
}

// TestW3_OneCustomerIsOneOrigin: whoever has an IPv6 network has more addresses than
// anybody could count failures of.
func TestW3_OneCustomerIsOneOrigin(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	if _, err := i.SignUp(ctx, ada()); err != nil {
		t.Fatal(err)
	}
	for n := range 25 {
		_, err := i.SignIn(ctx, fmt.Sprintf("ada%d@example.com", n), "Correct-Horse-7", "", fmt.Sprintf("2001:db8:1:2::%x", n+1))
		if want := map[bool]string{true: "invalid_credentials", false: "rate_limited"}[n < 20]; n != 20 && !fault.Is(err, want) {
			t.Fatalf("attempt %d: %v", n, err)
		}
	}
	if _, err := i.SignIn(ctx, "ada@example.com", "Correct-Horse-7", "", "2001:db8:1:3::1"); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
}

func TestSignUpNamesEveryBadField(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	_, err := i.SignUp(t.Context(), flow.SignUp{Email: "nope", Password: "short", BirthDate: "2020-01-01"})
	got := map[string]bool{}
	for _, f := range fault.From(err).Fields {
		got[f.Field] = true
	}
	for _, want := range []string{"email", "password", "firstName", "birthDate", "acceptedTerms"} {
		if !got[want] {
			t.Errorf("no complaint about %s in %v", want, got)
		}
	}
	for _, pw := range []string{"password", "Password123", "aaaaaaaaA1", "Abcdefgh", "Ada.lovelace1", "12345678Aa"} {
		in := ada()
		in.Email, in.Password = "ada.lovelace@example.com", pw
		_, err := i.SignUp(t.Context(), in)
		if pw == "12345678Aa" || pw == "aaaaaaaaA1" {
			continue // mixed enough to pass the run rule
		}
		if !fault.Is(err, "password_weak") {
			t.Errorf("%q must be refused: %v", pw, err)
		}
	}
}

func TestSessionsRevokeAndPasswordChange(t *testing.T) {
	t.Parallel()
	i, d := newIdentity(t)
	ctx := t.Context()
	one, err := i.SignUp(ctx, ada())
	if err != nil {
		t.Fatal(err)
	}
	two, err := i.SignIn(ctx, "ada@example.com", "Correct-Horse-7", "Other browser", "192.0.2.9")
	if err != nil {
		t.Fatal(err)
	}
	a1, _ := i.Authenticate(ctx, one.Token)
	a2, _ := i.Authenticate(ctx, two.Token)
	list, err := i.Sessions(ctx, a1)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v %v", list, err)
	}
	if err := i.ChangePassword(ctx, a1, "wrong", "Another-Horse-8"); !fault.Is(err, "invalid_credentials") {
		t.Fatal(err)
	}
	if err := i.ChangePassword(ctx, a1, "Correct-Horse-7", "weak"); !fault.Is(err, "password_weak") || fault.From(err).Fields[0].Field != "newPassword" {
		t.Fatal(err)
	}
	if err := i.ChangePassword(ctx, a1, "Correct-Horse-7", "Another-Horse-8"); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Authenticate(ctx, two.Token); fault.KindOf(err) != fault.Unauthenticated || !d.has(a2.SessionID.String()) {
		t.Fatalf("other sessions end with the password: %v", err)
	}
	if err := i.RevokeSession(ctx, a1, a1.SessionID); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Authenticate(ctx, one.Token); fault.KindOf(err) != fault.Unauthenticated {
		t.Fatal("a revoked session is dead at once")
	}
}

func agentOf(t *testing.T, i *flow.Identity) (person access.Actor, aid id.Participant, key string) {
	t.Helper()
	s, err := i.SignUp(t.Context(), ada())
	if err != nil {
		t.Fatal(err)
	}
	person, err = i.Authenticate(t.Context(), s.Token)
	if err != nil {
		t.Fatal(err)
	}
	a, key, err := i.CreateAgent(t.Context(), person, flow.NewAgent{DisplayName: "Nova", SoulMD: "I am Nova.", ModelConfig: []byte(`{"backend":"claude"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(a.ModelConfig), "claude_cli") {
		t.Fatalf("aliases are stored under the contract's name: %s", a.ModelConfig)
	}
	return person, a.ID, key
}

func TestW3_WrongKeysAreLimitedAndTheRightOneAlwaysPasses(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	_, aid, key := agentOf(t, i)
	var err error
	for range 25 {
		_, err = i.ExchangeAgentKey(t.Context(), aid.String(), key[:len(key)-1]+"!", "192.0.2.5")
	}
	if fault.KindOf(err) != fault.Exhausted {
		t.Fatalf("wrong keys are not limited: %v", err)
	}
	for _, address := range []string{"192.0.2.5", "192.0.2.6"} {
		if _, err := i.ExchangeAgentKey(t.Context(), aid.String(), key, address); err != nil {
			t.Errorf("the agent is kept away from %s: %v", address, err)
		}
	}
	if _, err := i.SignIn(t.Context(), "nobody@example.com", "wrong", "", "192.0.2.5"); fault.KindOf(err) == fault.Exhausted {
		t.Error("people are kept away by a stale key")
	}
}

func TestW3_AgentKeyExchangeAndRevocation(t *testing.T) {
	t.Parallel()
	i, d := newIdentity(t)
	ctx := t.Context()
	person, aid, key := agentOf(t, i)
	token, err := i.ExchangeAgentKey(ctx, aid.String(), key, "192.0.2.5")
	if err != nil {
		t.Fatal(err)
	}
	actor, err := i.Authenticate(ctx, token)
	if err != nil || actor.Kind != access.Agent || actor.ID != aid || actor.OwnerID != person.ID {
		t.Fatalf("%+v %v", actor, err)
	}
	if _, err := i.Authenticate(ctx, key); fault.KindOf(err) != fault.Unauthenticated {
		t.Fatal("the raw key is no bearer outside code_action")
	}
	if _, err := i.ExchangeAgentKey(ctx, person.ID.String(), key, "192.0.2.5"); fault.KindOf(err) != fault.Unauthenticated {
		t.Fatal("a key belongs to its agent only")
	}
	if _, err := i.ExchangeAgentKey(ctx, aid.String(), key[:len(key)-1]+"x", "192.0.2.5"); fault.KindOf(err) != fault.Unauthenticated {
		t.Fatal("a wrong key is refused")
	}
	_, newKey, err := i.RegenerateKey(ctx, person, aid)
	if err != nil || newKey == key {
		t.Fatal(err)
	}
	if _, err := i.Authenticate(ctx, token); fault.KindOf(err) != fault.Unauthenticated {
		t.Fatal("tokens of the old key are dead at once")
	}
	if _, err := i.ExchangeAgentKey(ctx, aid.String(), key, "192.0.2.5"); fault.KindOf(err) != fault.Unauthenticated {
		t.Fatal("the old key is dead at once")
	}
	if !d.has(aid.String()) {
		t.Fatal("sockets of the old key are closed")
	}
	token, err = i.ExchangeAgentKey(ctx, aid.String(), newKey, "192.0.2.5")
	if err != nil {
		t.Fatal(err)
	}
	off := "deactivated"
	if _, err := i.EditAgent(ctx, person, aid, false, flow.AgentPatch{Status: &off}); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Authenticate(ctx, token); fault.KindOf(err) != fault.Unauthenticated {
		t.Fatal("deactivation revokes at once")
	}
}

func TestAgentsAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	_, aid, _ := agentOf(t, i)
	in := ada()
	in.Email = "eve@example.com"
	s, err := i.SignUp(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	eve, _ := i.Authenticate(ctx, s.Token)
	name := "Mine now"
	_, _, errGet := i.Agent(ctx, eve, aid)
	_, errEdit := i.EditAgent(ctx, eve, aid, false, flow.AgentPatch{DisplayName: &name})
	_, _, errKey := i.RegenerateKey(ctx, eve, aid)
	for _, err := range []error{errGet, errEdit, errKey, i.DeleteAgent(ctx, eve, aid)} {
		if fault.KindOf(err) != fault.NotFound {
			t.Fatalf("a stranger cannot tell the agent exists: %v", err)
		}
	}
}

func TestB8_LLMKeysResolveForOwnerAndOwnAgentsOnly(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	person, aid, key := agentOf(t, i)
	k, err := i.AddLLMKey(ctx, person, "anthropic", " sk-ant-secret ", "work", false)
	if err != nil || !k.IsDefault {
		t.Fatalf("%+v %v", k, err)
	}
	token, err := i.ExchangeAgentKey(ctx, aid.String(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	ag, err := i.Authenticate(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := i.ResolveLLMKey(ctx, ag, "anthropic", id.Credential{}); err != nil || got != "sk-ant-secret" {
		t.Fatalf("%q %v", got, err)
	}
	in := ada()
	in.Email = "eve@example.com"
	s, err := i.SignUp(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	eve, _ := i.Authenticate(ctx, s.Token)
	if _, err := i.ResolveLLMKey(ctx, eve, "anthropic", k.ID); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("a stranger resolves nothing: %v", err)
	}
	if err := i.DeleteLLMKey(ctx, eve, k.ID); fault.KindOf(err) != fault.NotFound {
		t.Fatal("a stranger deletes nothing")
	}
}

func TestOneTimeCodeWorksOnce(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	s, err := i.SignUp(ctx, ada())
	if err != nil {
		t.Fatal(err)
	}
	code, err := i.MakeOneTimeCode(ctx, s.Self.Account.ID, 1e9*60)
	if err != nil {
		t.Fatal(err)
	}
	var ok, refused int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, err := i.SpendOneTimeCode(context.WithoutCancel(ctx), code, "", "")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ok++
			} else if fault.Is(err, "code_invalid") {
				refused++
			}
		})
	}
	wg.Wait()
	if ok != 1 || refused != 3 {
		t.Fatalf("ok %d refused %d", ok, refused)
	}
}

func TestProfileAndDeletion(t *testing.T) {
	t.Parallel()
	i, d := newIdentity(t)
	ctx := t.Context()
	person, aid, _ := agentOf(t, i)
	zone, tour, last, tag := "Asia/Shanghai", "profileTour", "", "counting"
	locale := new("zh-CN")
	self, err := i.EditProfile(ctx, person, flow.ProfilePatch{Patch: account.Patch{Timezone: &zone, TourSeen: &tour, LastName: &last, Tagline: &tag, Locale: &locale}})
	if err != nil {
		t.Fatal(err)
	}
	if self.Participant.DisplayName != "Ada" || *self.Account.Timezone != zone || *self.Account.Locale != "zh-CN" || !strings.Contains(string(self.Account.Metadata), "profileTour") || !strings.Contains(string(self.Account.Metadata), "counting") {
		t.Fatalf("%+v", self)
	}
	bad := "Mars/Olympus"
	if _, err := i.EditProfile(ctx, person, flow.ProfilePatch{Patch: account.Patch{Timezone: &bad}}); fault.KindOf(err) != fault.Invalid {
		t.Fatal(err)
	}
	if err := i.DeleteAccount(ctx, person, "delete"); !fault.Is(err, "confirm_required") {
		t.Fatal(err)
	}
	if err := i.DeleteAccount(ctx, person, "DELETE"); err != nil {
		t.Fatal(err)
	}
	if !d.has(person.ID.String()) || !d.has(aid.String()) {
		t.Fatal("sockets of the person and their agents close")
	}
	if _, err := i.SignUp(ctx, ada()); err != nil {
		t.Fatalf("the address is free again: %v", err)
	}
}

func TestPeopleAreFoundByWholeAddressOnly(t *testing.T) {
	t.Parallel()
	i, _ := newIdentity(t)
	ctx := t.Context()
	person, _, _ := agentOf(t, i)
	in := ada()
	in.Email, in.FirstName = "grace@example.com", "Grace"
	if _, err := i.SignUp(ctx, in); err != nil {
		t.Fatal(err)
	}
	if found, err := i.FindPeople(ctx, person, " GRACE@example.com "); err != nil || len(found) != 1 || found[0].DisplayName != "Grace Lovelace" {
		t.Fatalf("%v %v", found, err)
	}
	for _, term := range []string{"Grace", "grace@", "example.com", "%", "_%"} {
		if found, err := i.FindPeople(ctx, person, term); err == nil && len(found) != 0 {
			t.Fatalf("%q found a stranger: %v", term, found)
		}
	}
	if _, err := i.FindPeople(ctx, person, "g"); fault.KindOf(err) != fault.Invalid {
		t.Fatal(err)
	}
}
