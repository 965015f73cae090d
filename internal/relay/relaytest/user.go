// Package relaytest is a client of letter relays for tests and the benchmark: it
// makes identities and signs calls as the contract says (letters.md 1.2). It
// encrypts nothing: a relay cannot tell.
package relaytest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// User is one identity.
type User struct {
	Address     string
	IdentityKey string
	SigningKey  string
	Key         ed25519.PrivateKey
}

// NewUser makes an identity of random keys.
func NewUser() *User {
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // the machine has no randomness
	}
	u := &User{IdentityKey: RandomKey(), SigningKey: base64.RawStdEncoding.EncodeToString(pub), Key: key}
	u.Address = wire.Address(u.IdentityKey, u.SigningKey)
	return u
}

// RandomKey is 32 random bytes as keys are written.
func RandomKey() string { return base64.RawStdEncoding.EncodeToString(random(32)) }

// RandomBody looks like a ciphertext of n bytes.
func RandomBody(n int) string { return base64.StdEncoding.EncodeToString(random(n)) }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// Keys are n one-time keys.
func Keys(n int) map[string]string {
	out := make(map[string]string, n)
	for i := range n {
		out[fmt.Sprintf("K%05d", i)] = RandomKey()
	}
	return out
}

// Auth signs a call. Change what it returns, and it proves nothing.
func (u *User) Auth(tool, audience string, at time.Time, args map[string]any) wire.Auth {
	a := wire.Auth{
		Fingerprint: u.Address, IdentityKey: u.IdentityKey, SigningKey: u.SigningKey,
		Timestamp: strconv.FormatInt(at.Unix(), 10), Nonce: hex.EncodeToString(random(16)),
	}
	if err := a.Sign(u.Key, tool, audience, args); err != nil {
		panic(err) // arguments of a test
	}
	return a
}

// Nack refuses a ciphertext.
func (u *User) Nack(body string) map[string]any {
	hash := wire.BodyHash(body)
	sig := ed25519.Sign(u.Key, wire.NackText(u.Address, hash))
	return map[string]any{"hash": hash, "sig": base64.RawStdEncoding.EncodeToString(sig)}
}

// Publication is the arguments of publish_keys with n one-time keys and a fallback key.
func (u *User) Publication(n int) map[string]any {
	return map[string]any{
		"identity_key": u.IdentityKey, "signing_key": u.SigningKey, "one_time_keys": Keys(n), "fallback_key": map[string]string{"F1": RandomKey()},
	}
}

// Relay is where calls go: URL of the server, and the address that is signed.
type Relay struct {
	URL      string
	Audience string // empty: URL
	HTTP     *http.Client
	Header   http.Header
	Clock    func() time.Time // nil: time.Now
}

// Refusal is an answer that is not 200.
type Refusal struct {
	Status int
	Text   string
}

func (e *Refusal) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Text) }

// Call makes one signed call and reads its answer into out. A *Refusal is any
// status but 200.
func (r *Relay) Call(ctx context.Context, u *User, tool string, args map[string]any, out any) error {
	audience, now := r.Audience, time.Now
	if audience == "" {
		audience = r.URL
	}
	if r.Clock != nil {
		now = r.Clock
	}
	return r.Post(ctx, wire.NewRequest(tool, u.Auth(tool, audience, now(), args), args), out)
}

// Post sends any body.
func (r *Relay) Post(ctx context.Context, body, out any) error {
	res, err := r.Open(ctx, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return &Refusal{res.StatusCode, wire.ErrorText(b)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("answer %s: %w", b, err)
	}
	return nil
}

// Open sends any body (bytes as they are) and returns the answer.
func (r *Relay) Open(ctx context.Context, body any) (*http.Response, error) {
	b, raw := body.([]byte)
	if !raw {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("post: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range r.Header {
		req.Header[k] = v
	}
	res, err := r.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("post: %w", err)
	}
	return res, nil
}

// Publish opens u's mailbox with n one-time keys.
func (r *Relay) Publish(ctx context.Context, u *User, n int) error {
	return r.Call(ctx, u, wire.ToolPublishKeys, u.Publication(n), nil)
}

// Send sends a body as a normal letter.
func (r *Relay) Send(ctx context.Context, u *User, to, body string) (wire.SendResult, error) {
	var out wire.SendResult
	err := r.Call(ctx, u, wire.ToolSendMessage, map[string]any{"to": to, "mtype": 1, "body": body}, &out)
	return out, err
}

// Read takes the letters that wait for u; peer "" is everybody.
func (r *Relay) Read(ctx context.Context, u *User, peer string) ([]wire.Message, error) {
	args := map[string]any{}
	if peer != "" {
		args["peer"] = peer
	}
	var out []wire.Message
	err := r.Call(ctx, u, wire.ToolReadMessages, args, &out)
	return out, err
}
