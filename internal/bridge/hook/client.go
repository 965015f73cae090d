package hook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

const (
	tokenLife = 12 * time.Minute // of the server's 15 (contract 8.5)
	backOff   = 30 * time.Second
)

// errAway means that the server failed a moment ago and is left alone.
var errAway = errors.New("the server did not answer a moment ago")

// refused is an answer that is no success.
type refused int

func (r refused) Error() string { return fmt.Sprintf("the server answered %d", int(r)) }

// client speaks to the server as the agent. Token and failures are kept between
// runs, in files that only the user reads.
type client struct {
	Credentials
	dir  string
	http *http.Client
}

func newClient(c Credentials, dir string) *client {
	return &client{Credentials: c, dir: dir, http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// memory is hook-token.json.
type memory struct {
	Fingerprint string    `json:"fingerprint"` // of address, agent and key
	Token       string    `json:"token,omitempty"`
	Until       time.Time `json:"until"`
	Away        time.Time `json:"away"` // the server is left alone until then
}

func (c *client) fingerprint() string {
	h := sha256.Sum256([]byte(c.URL + "\x00" + c.AgentID + "\x00" + c.APIKey))
	return hex.EncodeToString(h[:8])
}

func (c *client) path() string { return filepath.Join(c.dir, "hook-token.json") }

func (c *client) remembered() memory {
	var m memory
	raw, err := os.ReadFile(c.path())
	if err != nil || json.Unmarshal(raw, &m) != nil || m.Fingerprint != c.fingerprint() {
		return memory{Fingerprint: c.fingerprint()}
	}
	return m
}

// remember replaces the file in one step: hooks of one session run beside each other.
func (c *client) remember(m memory) {
	raw, err := json.Marshal(m)
	if err == nil {
		_ = writePrivate(c.path(), raw) // without it the next run exchanges the key again
	}
}

func (c *client) token(ctx context.Context, fresh bool) (string, error) {
	m := c.remembered()
	if !fresh && m.Token != "" && time.Now().Before(m.Until) {
		return m.Token, nil
	}
	var out struct {
		Token string `json:"token"`
	}
	if err := c.do(ctx, http.MethodPost, "/api/auth/agent-token", "", map[string]string{"agent_id": c.AgentID, "api_key": c.APIKey}, &out); err != nil {
		return "", err
	}
	c.remember(memory{Fingerprint: c.fingerprint(), Token: out.Token, Until: time.Now().Add(tokenLife)})
	return out.Token, nil
}

func (c *client) post(ctx context.Context, path string, body, into any) error {
	return c.call(ctx, http.MethodPost, path, body, into)
}

func (c *client) get(ctx context.Context, path string, into any) error {
	return c.call(ctx, http.MethodGet, path, nil, into)
}

// call makes one request with a token, a second time when the token was refused.
func (c *client) call(ctx context.Context, method, path string, body, into any) error {
	if m := c.remembered(); time.Now().Before(m.Away) {
		return errAway
	}
	token, err := c.token(ctx, false)
	if err == nil {
		err = c.do(ctx, method, path, token, body, into)
	}
	if code, ok := errors.AsType[refused](err); ok && code == http.StatusUnauthorized && token != "" {
		if token, err = c.token(ctx, true); err == nil {
			err = c.do(ctx, method, path, token, body, into)
		}
	}
	if code, ok := errors.AsType[refused](err); err != nil && (!ok || code >= 500 || code == http.StatusUnauthorized || code == http.StatusNotFound || code == http.StatusTooManyRequests) {
		m := c.remembered()
		m.Away = time.Now().Add(backOff)
		c.remember(m)
	}
	return err
}

func (c *client) do(ctx context.Context, method, path, token string, body, into any) error {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, in)
	if err != nil {
		return errors.New("the address of the server is malformed")
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("reach the server: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if res.StatusCode/100 != 2 {
		return refused(res.StatusCode)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

func escape(s string) string { return url.QueryEscape(s) }

// writePrivate replaces a file in one step; mode 0600, its folder 0700.
func writePrivate(name string, raw []byte) error {
	return replaceFile(name, raw, 0o600)
}

func replaceFile(name string, raw []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".agnt-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
