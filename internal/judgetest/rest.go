package judgetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Answer is one HTTP answer as the clients see it. JSON is nil when the body is
// empty or not JSON.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	JSON   any
}

// OK tells whether the status is a 2xx.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Map returns the body as an object, or nil.
func (a Answer) Map() map[string]any { m, _ := a.JSON.(map[string]any); return m }

// Str returns a top-level string of the body, or "".
func (a Answer) Str(key string) string { s, _ := a.Map()[key].(string); return s }

// call is one request. body nil sends no body at all.
type call struct {
	method, path string
	query        url.Values
	header       map[string]string
	body         any
	raw          []byte
}

// elsewhere tells whether the call goes to a whole address that the server
// handed out (upload and download of files), to which no API rule applies.
func (c call) elsewhere() bool {
	return strings.HasPrefix(c.path, "http://") || strings.HasPrefix(c.path, "https://")
}

// transport sends requests the way the contract's clients do: no redirects
// followed, no retry on 5xx, every 2xx but 204 must carry JSON (bridge 3.1,
// desktop 1.2).
type transport struct {
	base    string
	http    *http.Client
	led     *Ledger
	who     string
	section string // where this client's HTTP rules are written
	no205   bool   // a 205 needs a body too (the Python clients know 204 only)
}

func newTransport(base string, led *Ledger, who, section string, timeout time.Duration) transport {
	return transport{
		base: base, led: led, who: who, section: section,
		http: &http.Client{
			Timeout:       timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second},
		},
	}
}

func (t transport) close() { t.http.CloseIdleConnections() }

func (t transport) send(ctx context.Context, token string, c call) (Answer, error) {
	raw := c.raw
	if c.body != nil {
		b, err := json.Marshal(c.body)
		if err != nil {
			return Answer{}, fmt.Errorf("encode body of %s %s: %w", c.method, c.path, err)
		}
		raw = b
	}
	target := t.base + c.path
	if c.elsewhere() {
		target = c.path
	}
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	var body io.Reader
	if raw != nil {
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, body)
	if err != nil {
		return Answer{}, fmt.Errorf("build %s %s: %w", c.method, c.path, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	res, err := t.http.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", c.method, c.path, err)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, 32<<20))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return Answer{}, fmt.Errorf("read answer of %s %s: %w", c.method, c.path, err)
	}
	a := Answer{Status: res.StatusCode, Header: res.Header, Body: data}
	if len(bytes.TrimSpace(data)) > 0 {
		if json.Unmarshal(data, &a.JSON) != nil {
			a.JSON = nil
		}
	}
	if !c.elsewhere() {
		t.judge(c, a)
	}
	return a, nil
}

func (t transport) judge(c call, a Answer) {
	empty := a.Status == http.StatusNoContent || a.Status == http.StatusResetContent && !t.no205
	switch {
	case a.OK() && !empty && !json.Valid(a.Body):
		t.led.Break(t.who, t.section, "%s %s answered %d without a JSON body", c.method, c.path, a.Status)
	case a.Status >= 300 && a.Status < 400:
		t.led.Break(t.who, t.section, "%s %s answered a redirect %d", c.method, c.path, a.Status)
	case a.Status >= 500 && a.Status != http.StatusNotImplemented:
		t.led.Break(t.who, t.section, "%s %s answered %d: %s", c.method, c.path, a.Status, clip(string(a.Body), 200))
	}
}

// wait blocks for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
