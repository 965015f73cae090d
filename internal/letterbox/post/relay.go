package post

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Times and sizes of calls (contract letters 1.1).
const (
	callTimeout = 30 * time.Second
	infoTimeout = 4 * time.Second
	maxAnswer   = 1 << 20 // bytes of an answer that is not a list of letters
	maxLetters  = 1 << 30 // bytes of a list of letters, of which no more than one letter is in memory
	maxLetter   = 8 << 20 // bytes of one letter in such a list
	maxBody     = 4 << 20 // characters of its ciphertext; a longer one is passed over
	shortList   = 100     // letters, and
	shortSize   = 1 << 20 // characters of ciphertext, below which a list is not cut
)

// defaultAgent: relays behind some proxies turn away programs that do not look like a browser (contract letters 1.1).
const defaultAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

// What can go wrong with a relay.
var (
	ErrRelayAddress = errors.New("not a relay address")
	ErrUnreachable  = errors.New("the relay cannot be reached")
	ErrNoPush       = errors.New("this relay offers no push")
)

// RelayError is a relay's refusal of a call.
type RelayError struct {
	Tool   string
	Status int
	Text   string // the relay's, not ours: cut and printable
}

// Error words it as retalk does.
func (e *RelayError) Error() string { return "server error from " + e.Tool + ": " + e.Text }

// everyCall says whether the refusal would meet every other call too: no API key, or too many calls.
func (e *RelayError) everyCall() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusTooManyRequests
}

// relay makes signed calls.
type relay struct {
	address string // as signed
	key     string
	agent   string
	me      store.Identity
	sign    func([]byte) string
	http    *http.Client
	now     func() time.Time

	mu   sync.Mutex
	info *letter.Info // nil until asked
}

// CheckAddress refuses what is no relay's address: https, or http on this machine only, since an API key, and who writes to
// whom, would go through a network in the clear. Errors: [ErrRelayAddress].
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%w: want https://host/path", ErrRelayAddress)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%w: %s://%s is not encrypted; a relay is reached by https://, or by http:// on this machine", ErrRelayAddress, u.Scheme, u.Host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func newRelay(c Config, me store.Identity, sign func([]byte) string) (*relay, error) {
	if err := CheckAddress(c.Relay); err != nil {
		return nil, err
	}
	if c.UserAgent == "" {
		c.UserAgent = defaultAgent
	}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: callTimeout, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
	return &relay{
		address: c.Relay, key: c.APIKey, agent: c.UserAgent, me: me, sign: sign, now: c.Store.Now,
		// A signature names one address: whoever redirects is not it.
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// post sends one signed call and gives the answer's body, which the caller closes.
func (r *relay) post(ctx context.Context, where, tool string, args map[string]any) (io.ReadCloser, error) {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	auth := letter.Auth{
		Fingerprint: r.me.Address, IdentityKey: r.me.IdentityKey, SigningKey: r.me.SigningKey,
		Timestamp: strconv.FormatInt(r.now().Unix(), 10), Nonce: hex.EncodeToString(nonce),
	}
	text, err := letter.SignedText(tool, r.address, auth, args)
	if err != nil {
		return nil, err
	}
	auth.Signature = r.sign(text)
	body, err := json.Marshal(letter.NewRequest(tool, auth, args))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, where, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRelayAddress, err)
	}
	req.Header.Set("Content-Type", "application/json")
	r.headers(req)
	res, err := r.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		b, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // what came is what is shown
		msg := letter.ErrorText(b)
		if msg == "" {
			msg = strings.TrimSpace(res.Status + " " + string(b))
		}
		return nil, &RelayError{Tool: tool, Status: res.StatusCode, Text: Printable(msg, 300)}
	}
	return res.Body, nil
}

func (r *relay) headers(req *http.Request) {
	req.Header.Set("User-Agent", r.agent)
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
}

// unreachable hides the request's address and keeps the reason.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// call makes a call whose answer is small.
func (r *relay) call(ctx context.Context, tool string, args map[string]any, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := r.post(ctx, r.address, tool, args)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	b, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return unreachable(ctx, err)
	}
	if len(b) > maxAnswer || json.Unmarshal(b, into) != nil {
		return &RelayError{Tool: tool, Status: http.StatusOK, Text: "an answer that is no answer"}
	}
	return nil
}

func (r *relay) publish(ctx context.Context, keys, fallback map[string]string) error {
	if keys == nil {
		keys = map[string]string{} // signed as {}: null would be another text
	}
	args := map[string]any{"identity_key": r.me.IdentityKey, "signing_key": r.me.SigningKey, "one_time_keys": keys, "fallback_key": nil}
	if len(fallback) > 0 {
		args["fallback_key"] = fallback
	}
	var p letter.Published
	return r.call(ctx, letter.ToolPublishKeys, args, &p)
}

func (r *relay) count(ctx context.Context) (c letter.KeyCount, err error) {
	return c, r.call(ctx, letter.ToolCountKeys, map[string]any{}, &c)
}

func (r *relay) getKeys(ctx context.Context, peer string) (k letter.Keys, err error) {
	return k, r.call(ctx, letter.ToolGetKeys, map[string]any{"peer": peer}, &k)
}

func (r *relay) claim(ctx context.Context, peer string) (k letter.ClaimedKey, err error) {
	return k, r.call(ctx, letter.ToolClaimKey, map[string]any{"peer": peer}, &k)
}

func (r *relay) send(ctx context.Context, to string, mtype int, body string) (s letter.SendResult, err error) {
	return s, r.call(ctx, letter.ToolSendMessage, map[string]any{"to": to, "mtype": mtype, "body": body}, &s)
}

// waiting narrows the peers to be asked for down to those of whom the relay has letters, where it can tell. That costs a call and
// saves one for each other peer.
func (r *relay) waiting(ctx context.Context, peers []string) []string {
	const worth = 2
	if len(peers) <= worth || slices.Contains(peers, "") || !slices.Contains(r.about(ctx).Tools, letter.ToolSenders) {
		return peers
	}
	var w letter.Waiting
	if err := r.call(ctx, letter.ToolSenders, map[string]any{}, &w); err != nil || w.More {
		return peers // asking for each says what is wrong
	}
	return slices.DeleteFunc(slices.Clone(peers), func(p string) bool { return !slices.Contains(w.Senders, p) })
}

func (r *relay) nack(ctx context.Context, hash string) error {
	var ok letter.OK
	sig := r.sign(letter.NackText(r.me.Address, hash))
	return r.call(ctx, letter.ToolNack, map[string]any{"hash": hash, "sig": sig}, &ok)
}

// about is what the relay says of itself, asked once. A relay that says nothing is a plain one.
func (r *relay) about(ctx context.Context) letter.Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info != nil {
		return *r.info
	}
	info, err := r.ask(ctx)
	if err != nil {
		return letter.Info{} // and ask again next time
	}
	r.info = &info
	return info
}

func (r *relay) ask(ctx context.Context) (info letter.Info, err error) {
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.below("/info"), http.NoBody)
	if err != nil {
		return info, fmt.Errorf("%w: %w", ErrRelayAddress, err)
	}
	r.headers(req)
	res, err := r.http.Do(req)
	if err != nil {
		return info, unreachable(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return info, unreachable(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		return info, &RelayError{Tool: "info", Status: res.StatusCode, Text: Printable(letter.ErrorText(b), 300)}
	}
	if json.Unmarshal(b, &info) != nil {
		return letter.Info{}, nil
	}
	return info, nil
}

func (r *relay) below(path string) string { return strings.TrimRight(r.address, "/") + path }
