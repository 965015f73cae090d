package relay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/pg"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// call is POST to any path: {"tool": …, "args": {…, "auth": {…}}}.
func (r *Relay) call(w http.ResponseWriter, req *http.Request) {
	start := time.Now()
	tool, outcome := "unknown", "ok"
	defer func() { r.metrics.observe(tool, outcome, time.Since(start)) }()
	control := http.NewResponseController(w)
	if r.cfg.Timeout > 0 {
		_ = control.SetReadDeadline(start.Add(r.cfg.Timeout)) // a test's recorder has no connection
		_ = control.SetWriteDeadline(start.Add(2 * r.cfg.Timeout))
	}
	var name string
	var raw map[string]json.RawMessage
	err := r.takeOrigin(r.byOrigin, req)
	if err == nil {
		name, raw, err = r.read(req)
	}
	t, known := tools[name]
	if known {
		tool = name
	}
	if err == nil && !known {
		err = bad("'%s'", name)
	}
	if err == nil {
		err = r.serve(w, req, t, raw)
	}
	if err != nil {
		var no *refusalError
		if errors.As(err, &no) && (no.status == http.StatusRequestEntityTooLarge || no.status == http.StatusUnauthorized) {
			w.Header().Set("Connection", "close") // the rest of the body is not read
		}
		outcome = r.answerError(req.Context(), w, tool, err)
	}
}

// read takes the request apart. Order as in letters.md 1.1: the API key before the
// body, the size before its content.
func (r *Relay) read(req *http.Request) (tool string, args map[string]json.RawMessage, err error) {
	if r.cfg.RequireAPIKey {
		if err := r.checkAPIKey(req); err != nil {
			return "", nil, err
		}
	}
	limit := r.cfg.MaxBody
	if limit <= 0 {
		limit = math.MaxInt64 - 1
	}
	if req.ContentLength > limit {
		return "", nil, refuse(http.StatusRequestEntityTooLarge, wire.TextBodyTooLarge, req.ContentLength, limit)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, limit+1))
	switch {
	case err != nil:
		return "", nil, bad("the request body could not be read")
	case int64(len(body)) > limit:
		return "", nil, refuse(http.StatusRequestEntityTooLarge, wire.TextBodyTooLarge, len(body), limit)
	case !utf8.Valid(body) || loneSurrogate(body):
		return "", nil, bad("the request body is not UTF-8")
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(body, &in); err != nil || in == nil {
		return "", nil, bad("the request body is not a JSON object")
	}
	if _, ok := in["tool"]; !ok {
		return "", nil, bad("'tool'")
	}
	if json.Unmarshal(in["tool"], &tool) != nil {
		return "", nil, bad("'tool' must be a string")
	}
	if rawArgs, ok := in["args"]; ok {
		if err := json.Unmarshal(rawArgs, &args); err != nil || args == nil {
			return "", nil, bad("'args' must be an object")
		}
	}
	return tool, args, nil
}

// loneSurrogate finds half of a surrogate pair, which Go would read as another
// character than the one that was signed.
func loneSurrogate(body []byte) bool {
	for at := 0; at+1 < len(body); at++ {
		if body[at] != '\\' {
			continue
		}
		at++ // what is escaped; of \\ the second
		if body[at] != 'u' {
			continue
		}
		switch u := unit(body, at+1); {
		case u >= 0xdc00 && u < 0xe000:
			return true
		case u >= 0xd800 && u < 0xdc00:
			if at+6 >= len(body) || body[at+5] != '\\' || body[at+6] != 'u' {
				return true
			}
			if low := unit(body, at+7); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			at += 10
		}
	}
	return false
}

func unit(body []byte, at int) int64 {
	if at+4 > len(body) {
		return -1
	}
	n, err := strconv.ParseInt(string(body[at:at+4]), 16, 32)
	if err != nil {
		return -1
	}
	return n
}

// request is one call that is well formed, and after verify whose it is.
type request struct {
	http  *http.Request
	args  map[string]json.RawMessage // business arguments that were given
	auth  wire.Auth
	now   time.Time
	admit func() error
}

// call is what the post office wants to know.
func (q *request) call() letter.Call {
	return letter.Call{Caller: q.auth.Fingerprint, Nonce: q.auth.Nonce, Now: q.now, Admit: q.admit}
}

// serve checks arguments, signature and rate, and runs the tool.
func (r *Relay) serve(w http.ResponseWriter, req *http.Request, t tool, args map[string]json.RawMessage) error {
	if err := r.mayTry(req); err != nil {
		return err
	}
	q := &request{http: req, now: r.cfg.Clock(), admit: func() error { return nil }}
	var err error
	if q.auth, err = authOf(t, args); err != nil {
		return err
	}
	q.args = args
	delete(q.args, "auth")
	if err := t.check(q.args); err != nil {
		return err
	}
	signed, err := t.signed(q.args)
	if err != nil {
		return err
	}
	if err := r.verify(t.name, q, signed); err != nil {
		r.failed(req)
		return err
	}
	if r.calls != nil {
		// A replayed call is somebody else's: it must not use up the sender's budget. So
		// the budget is looked at here and taken when the nonce is known to be new.
		if wait, ok := r.calls.Peek(q.auth.Fingerprint); !ok {
			return tooFast(wait)
		}
		q.admit = func() error {
			if wait, ok := r.calls.Take(q.auth.Fingerprint); !ok {
				return tooFast(wait)
			}
			return nil
		}
	}
	err = t.run(r, w, q)
	if errors.Is(err, letter.ErrReplay) {
		return bad(wire.TextReplay)
	}
	return err
}

// authOf reads the proof. Its further members are ignored.
func authOf(t tool, args map[string]json.RawMessage) (a wire.Auth, err error) {
	raw, ok := args["auth"]
	if !ok {
		return a, bad("%s() missing 1 required argument: 'auth'", t.name)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return a, bad("'auth' must be an object")
	}
	for _, f := range []struct {
		name string
		to   *string
	}{
		{"fingerprint", &a.Fingerprint}, {"identity_key", &a.IdentityKey}, {"signing_key", &a.SigningKey},
		{"timestamp", &a.Timestamp}, {"nonce", &a.Nonce}, {"signature", &a.Signature},
	} {
		v, ok := m[f.name]
		switch {
		case !ok:
			return a, bad("'%s'", f.name)
		case json.Unmarshal(v, f.to) == nil && !bytes.Equal(v, []byte("null")):
		case f.name == "timestamp": // a number is as good (letters.md 1.2)
			*f.to = string(v)
		default:
			return a, bad("'%s' must be a string", f.name)
		}
	}
	return a, nil
}

// verify follows the order of letters.md 1.2; the nonce comes last, in the
// transaction of the tool.
func (r *Relay) verify(tool string, q *request, signed map[string]any) error {
	a := q.auth
	if !wire.IsAddress(a.Fingerprint) || wire.Address(a.IdentityKey, a.SigningKey) != a.Fingerprint {
		return bad(wire.TextForeignKeys)
	}
	at, err := strconv.ParseInt(a.Timestamp, 10, 64)
	if err != nil || math.Abs(float64(q.now.UnixNano())/1e9-float64(at)) > wire.ClockWindow {
		return bad(wire.TextStale)
	}
	for _, audience := range r.cfg.Audiences {
		text, err := wire.SignedText(tool, audience, a, signed)
		if err != nil {
			return bad("the arguments cannot be signed")
		}
		ok, err := wire.Verify(a.SigningKey, text, a.Signature)
		if err != nil {
			return bad("%s (not a key or signature)", wire.TextBadSignature)
		}
		if ok {
			return nil
		}
	}
	return bad("%s (wrong key, arguments, or relay address?)", wire.TextBadSignature)
}

// checkAPIKey is admission only (letters.md 1.6).
func (r *Relay) checkAPIKey(req *http.Request) error {
	if err := r.mayTry(req); err != nil {
		return err
	}
	key := req.Header.Get("X-Retalk-Key")
	if scheme, token, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		key = strings.TrimSpace(token)
	}
	allowed := false
	if key != "" {
		var err error
		if allowed, err = r.office.KeyAllowed(req.Context(), hashKey(key)); err != nil {
			return err
		}
	}
	if !allowed {
		r.failed(req)
		return refuse(http.StatusUnauthorized, wire.TextAPIKey)
	}
	return nil
}

func hashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// letters writes the answer of read_messages and ends the lease: the letters are
// deleted when all of the answer went out, and given back when the caller was gone
// before or the answer was cut off. When the process dies in between, the lease runs
// out by itself.
func (r *Relay) letters(w http.ResponseWriter, q *request, lease string, list []wire.Message) error {
	// Asked before and not after: a caller that has read everything hangs up, too.
	err := q.http.Context().Err()
	if err == nil {
		err = answer(w, http.StatusOK, list)
	}
	if lease == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.http.Context()), endLease)
	defer cancel()
	fate, end := "collected", func() error { _, err := r.office.Collected(ctx, q.auth.Fingerprint, lease); return err }
	if err != nil {
		fate, end = "given_back", func() error { return r.office.GiveBack(ctx, q.auth.Fingerprint, lease) }
	}
	r.metrics.letters.WithLabelValues(fate).Add(float64(len(list)))
	// A database that is busy or restarts is asked again: else the letters would come twice.
	for err = end(); err != nil && pg.IsUnavailable(err) && ctx.Err() == nil; err = end() {
	}
	if err != nil { // it can no longer be answered, and the lease covers for it
		r.cfg.Log.WarnContext(ctx, "relay: a lease was left to run out", slog.Any("error", err))
	}
	return nil
}

// endLease is how long the end of a hand-out is tried to be written down.
const endLease = 20 * time.Second

func messages(list []letter.Letter) []wire.Message {
	out := make([]wire.Message, 0, len(list))
	for _, l := range list {
		out = append(out, wire.Message{MessageID: l.ID, TS: l.SentAt, From: l.From, MType: l.MType, Body: l.Body})
	}
	return out
}
