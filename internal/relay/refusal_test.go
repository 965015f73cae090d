package relay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/relay"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// nack refuses a body as u.
func (p *place) nack(u *relaytest.User, body string) {
	p.t.Helper()
	var ok wire.OK
	p.ok(p.Call(p.ctx(), u, "nack", u.Nack(body), &ok))
	if !ok.OK {
		p.t.Error("a nack was not taken")
	}
}

// isRefused sends and tells whether the answer is a refusal whose proof is good.
func (p *place) isRefused(from, to *relaytest.User, body string) bool {
	p.t.Helper()
	out, err := p.Send(p.ctx(), from, to.Address, body)
	p.ok(err)
	if !out.Refused.Refused {
		return false
	}
	good, err := wire.Verify(to.SigningKey, wire.NackText(to.Address, out.Hash), out.Sig)
	if err != nil || !good || out.Hash != wire.BodyHash(body) {
		p.t.Errorf("refusal without proof: %+v %v", out, err)
	}
	return true
}

// TestL1_RefusalGate: a refused ciphertext is answered with the recipient's proof,
// for this recipient and this ciphertext only, until it expires (letters.md 1.4,
// 6.1 sync and block).
func TestL1_RefusalGate(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.RefusedTTL = 7 * 24 * time.Hour })
	alice, bob, carl := p.user(0), p.user(0), p.user(0)
	p.nack(bob, "spam")
	if !p.isRefused(alice, bob, "spam") || !p.isRefused(carl, bob, "spam") {
		t.Error("a refused ciphertext is stored")
	}
	if p.isRefused(alice, bob, "other") || p.isRefused(alice, carl, "spam") {
		t.Error("another ciphertext or recipient is refused")
	}
	p.rows("letters", 2)
	p.pass(6 * 24 * time.Hour)
	p.nack(bob, "spam") // refreshes
	p.pass(6 * 24 * time.Hour)
	if !p.isRefused(alice, bob, "spam") {
		t.Error("a refreshed refusal expired")
	}
	p.pass(2 * 24 * time.Hour)
	if p.isRefused(alice, bob, "spam") {
		t.Error("an expired refusal still refuses")
	}
	p.rows("letter_refusals", 1)
	_, err := p.office.Sweep(p.ctx(), p.clock())
	p.ok(err)
	p.rows("letter_refusals", 0)
}

// TestL1_ForgedRefusalsAreIgnored: only the recipient's own signature refuses.
func TestL1_ForgedRefusalsAreIgnored(t *testing.T) {
	t.Parallel()
	p := open(t)
	alice, bob := p.user(0), p.user(0)
	args := alice.Nack("m")
	p.refused(p.Call(p.ctx(), bob, "nack", args, nil), 400, "bad nack signature")
	for _, hash := range []string{"", "abc", "AB" + wire.BodyHash("m")[2:]} {
		bad := bob.Nack("m")
		bad["hash"] = hash
		p.refused(p.Call(p.ctx(), bob, "nack", bad, nil), 400, "bad nack signature")
	}
	if p.isRefused(alice, bob, "m") {
		t.Error("a forged refusal refuses")
	}
}

// TestL1_RefusalsAreBounded: the oldest of a recipient goes.
func TestL1_RefusalsAreBounded(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.Refusals = 3 })
	alice, bob := p.user(0), p.user(0)
	p.nack(alice, "m0")
	for n := range 5 {
		p.nack(bob, fmt.Sprintf("m%d", n))
	}
	p.rows("letter_refusals", 4)
	for n := range 5 {
		if got := p.isRefused(alice, bob, fmt.Sprintf("m%d", n)); got != (n >= 2) {
			t.Errorf("m%d refused: %v", n, got)
		}
	}
}
