package relay

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/letter"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// tool is one call: its arguments, and what it does.
type tool struct {
	name     string
	needs    []string
	optional []string
	// signed rebuilds the arguments that the caller must have signed.
	signed func(args map[string]json.RawMessage) (map[string]any, error)
	run    func(r *Relay, w http.ResponseWriter, q *request) error
}

var tools = byName(
	tool{wire.ToolPublishKeys, []string{"identity_key", "signing_key", "one_time_keys"}, []string{"fallback_key"}, signedOrNull("fallback_key"), (*Relay).publishKeys},
	tool{wire.ToolCountKeys, nil, nil, signedAsGiven, (*Relay).countKeys},
	tool{wire.ToolGetKeys, []string{"peer"}, nil, signedAsGiven, (*Relay).getKeys},
	tool{wire.ToolClaimKey, []string{"peer"}, nil, signedAsGiven, (*Relay).claimKey},
	tool{wire.ToolSendMessage, []string{"to", "mtype", "body"}, nil, signedAsGiven, (*Relay).sendMessage},
	tool{wire.ToolReadMessages, nil, []string{"peer", "peek"}, signedWhenSet, (*Relay).readMessages},
	tool{wire.ToolNack, []string{"hash", "sig"}, nil, signedAsGiven, (*Relay).nack},
	tool{wire.ToolEvents, nil, nil, signedAsGiven, (*Relay).events},
	tool{wire.ToolLease, nil, []string{"peer"}, signedWhenSet, (*Relay).leaseMessages},
	tool{wire.ToolConfirm, []string{"lease"}, nil, signedAsGiven, (*Relay).confirmMessages},
	tool{wire.ToolSenders, nil, nil, signedAsGiven, (*Relay).waitingSenders},
)

func byName(list ...tool) map[string]tool {
	out := make(map[string]tool, len(list))
	for _, t := range list {
		out[t.name] = t
	}
	return out
}

// check finds missing and unknown arguments, in the words of Python.
func (t tool) check(args map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(t.needs, name) && !slices.Contains(t.optional, name) {
			return bad("%s() got an unexpected keyword argument '%s'", t.name, name)
		}
	}
	var missing []string
	for _, name := range t.needs {
		if _, ok := args[name]; !ok {
			missing = append(missing, "'"+name+"'")
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return bad("%s() missing 1 required positional argument: %s", t.name, missing[0])
	}
	return bad("%s() missing %d required positional arguments: %s", t.name, len(missing), strings.Join(missing, " and "))
}

func signedAsGiven(args map[string]json.RawMessage) (map[string]any, error) {
	out := make(map[string]any, len(args))
	for name, raw := range args {
		v, err := value(raw)
		if err != nil {
			return nil, bad("'%s' is not valid", name)
		}
		out[name] = v
	}
	return out, nil
}

// signedOrNull: an argument that was left out is signed as null.
func signedOrNull(name string) func(map[string]json.RawMessage) (map[string]any, error) {
	return func(args map[string]json.RawMessage) (map[string]any, error) {
		out, err := signedAsGiven(args)
		if _, ok := out[name]; err == nil && !ok {
			out[name] = nil
		}
		return out, err
	}
}

// signedWhenSet: arguments that Python takes for false are not signed (letters.md 1.2).
func signedWhenSet(args map[string]json.RawMessage) (map[string]any, error) {
	out, err := signedAsGiven(args)
	for name, v := range out {
		if v == nil || v == "" || v == false {
			delete(out, name)
		}
	}
	return out, err
}

func value(raw json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// text reads a string argument; absent and null are empty.
func (q *request) text(name string) (s string, err error) {
	if raw, ok := q.args[name]; ok && json.Unmarshal(raw, &s) != nil {
		return "", bad("'%s' must be a string", name)
	}
	return s, nil
}

// texts reads string arguments that must be there.
func (q *request) texts(to map[string]*string) error {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if bytes.Equal(q.args[name], []byte("null")) {
			return bad("'%s' must be a string", name)
		}
		s, err := q.text(name)
		if err != nil {
			return err
		}
		*to[name] = s
	}
	return nil
}

func (r *Relay) publishKeys(w http.ResponseWriter, q *request) error {
	var p letter.Publication
	if err := q.texts(map[string]*string{"identity_key": &p.IdentityKey, "signing_key": &p.SigningKey}); err != nil {
		return err
	}
	if wire.Address(p.IdentityKey, p.SigningKey) != q.auth.Fingerprint {
		return bad("published keys do not hash to user_id")
	}
	var err error
	if p.OneTime, err = keysInOrder(q.args["one_time_keys"]); err != nil {
		return bad("'one_time_keys' must be an object of key ids and keys")
	}
	if raw, ok := q.args["fallback_key"]; ok && !bytes.Equal(raw, []byte("null")) {
		keys, err := keysInOrder(raw)
		if err != nil || len(keys) != 1 {
			return bad("'fallback_key' must be an object with one key, or null")
		}
		p.Fallback = &keys[0]
	}
	if err := r.mayOpen(q); err != nil {
		return err
	}
	added, err := r.office.Publish(q.http.Context(), q.call(), p)
	if errors.Is(err, letter.ErrTooManyKeys) {
		return bad("too many one-time keys: at most %d may be unclaimed", r.office.Limits.OneTimeKeys)
	}
	if err != nil {
		return err
	}
	_ = answer(w, http.StatusOK, wire.Published{OK: true, Fingerprint: q.auth.Fingerprint, OneTimeKeysAdded: added, FallbackKeySet: p.Fallback != nil})
	return nil
}

// mayOpen bounds how many mailboxes one network address opens.
func (r *Relay) mayOpen(q *request) error {
	if r.newBoxes == nil || r.local(q.http) {
		return nil
	}
	known, err := r.office.Known(q.http.Context(), q.auth.Fingerprint)
	if err != nil || known {
		return err
	}
	return r.takeOrigin(r.newBoxes, q.http)
}

// most characters of a key id and of a key: what is longer is neither.
const (
	mostKeyID = 128
	mostKey   = 128
)

var errNotKeys = errors.New("not an object of keys")

// keysInOrder reads an object of key id to key in the order in which it is written.
func keysInOrder(raw json.RawMessage) ([]letter.Key, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotKeys
	}
	var out []letter.Key
	at := map[string]int{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errNotKeys
		}
		v, err := dec.Token()
		if err != nil {
			return nil, errNotKeys
		}
		id, isName := name.(string)
		key, isKey := v.(string)
		if !isName || !isKey || len(id) > mostKeyID || len(key) > mostKey || strings.ContainsRune(id+key, 0) {
			return nil, errNotKeys
		}
		if n, again := at[id]; again { // the last one counts, in the first one's place, as in Python
			out[n].Key = key
			continue
		}
		at[id] = len(out)
		out = append(out, letter.Key{ID: id, Key: key})
	}
	return out, nil
}

func (r *Relay) countKeys(w http.ResponseWriter, q *request) error {
	n, fallback, err := r.office.CountKeys(q.http.Context(), q.call())
	if err != nil {
		return err
	}
	_ = answer(w, http.StatusOK, wire.KeyCount{Unclaimed: n, HasFallback: fallback})
	return nil
}

func (r *Relay) getKeys(w http.ResponseWriter, q *request) error {
	var peer string
	if err := q.texts(map[string]*string{"peer": &peer}); err != nil {
		return err
	}
	identity, signing, err := r.office.Keys(q.http.Context(), q.call(), peer)
	if errors.Is(err, letter.ErrUnknown) {
		return bad("%s%s", wire.TextUnknownPeer, peer)
	}
	if err != nil {
		return err
	}
	_ = answer(w, http.StatusOK, wire.Keys{IdentityKey: identity, SigningKey: signing})
	return nil
}

func (r *Relay) claimKey(w http.ResponseWriter, q *request) error {
	var peer string
	if err := q.texts(map[string]*string{"peer": &peer}); err != nil {
		return err
	}
	k, err := r.office.ClaimKey(q.http.Context(), q.call(), peer)
	switch {
	case errors.Is(err, letter.ErrUnknown):
		return bad("%s%s", wire.TextUnknownPeer, peer)
	case errors.Is(err, letter.ErrNoKeys):
		return bad(wire.TextNoKeys)
	case err != nil:
		return err
	}
	_ = answer(w, http.StatusOK, wire.ClaimedKey{IdentityKey: k.IdentityKey, SigningKey: k.SigningKey, KeyID: k.ID, OneTimeKey: k.Key.Key, Fallback: k.Fallback})
	return nil
}

func (r *Relay) sendMessage(w http.ResponseWriter, q *request) error {
	var to, body string
	if err := q.texts(map[string]*string{"to": &to, "body": &body}); err != nil {
		return err
	}
	var mtype int64
	if json.Unmarshal(q.args["mtype"], &mtype) != nil || bytes.Equal(q.args["mtype"], []byte("null")) {
		return bad("'mtype' must be an integer")
	}
	p, err := r.office.Send(q.http.Context(), q.call(), to, mtype, body)
	l := r.office.Limits
	switch {
	case errors.Is(err, letter.ErrUnknown):
		return bad("%s%s", wire.TextUnknownRecipient, to)
	case errors.Is(err, letter.ErrMailboxFull):
		return bad("%s: the recipient has as many undelivered letters as the relay keeps (max %d)", wire.TextMailboxFull, l.Mailbox)
	case errors.Is(err, letter.ErrSenderFull):
		return bad("%s: too many of your letters wait for this recipient (max %d)", wire.TextMailboxSender, l.PerSender)
	case err != nil:
		return err
	}
	if p.Refusal != "" {
		r.metrics.letters.WithLabelValues("refused").Inc()
		_ = answer(w, http.StatusOK, wire.Refused{Refused: true, Hash: hex.EncodeToString(p.Hash[:]), Sig: p.Refusal})
		return nil
	}
	if p.Known {
		r.metrics.letters.WithLabelValues("known").Inc()
	} else {
		r.metrics.letters.WithLabelValues("stored").Inc()
		r.hints.notify(to)
	}
	_ = answer(w, http.StatusOK, wire.Sent{MessageID: p.ID, TS: p.SentAt})
	return nil
}

func (r *Relay) readMessages(w http.ResponseWriter, q *request) error {
	from, err := q.text("peer")
	if err != nil {
		return err
	}
	peek := false
	if raw, ok := q.args["peek"]; ok && json.Unmarshal(raw, &peek) != nil {
		return bad("'peek' must be true or false")
	}
	if peek {
		list, err := r.office.Peek(q.http.Context(), q.call(), from)
		if err == nil {
			_ = answer(w, http.StatusOK, messages(list))
		}
		return err
	}
	lease, list, err := r.office.Lease(q.http.Context(), q.call(), from)
	if err != nil {
		return err
	}
	return r.letters(w, q, lease, messages(list))
}

func (r *Relay) leaseMessages(w http.ResponseWriter, q *request) error {
	from, err := q.text("peer")
	if err != nil {
		return err
	}
	lease, list, err := r.office.Lease(q.http.Context(), q.call(), from)
	if err != nil {
		return err
	}
	_ = answer(w, http.StatusOK, wire.Leased{Lease: lease, Seconds: int(r.office.Limits.Lease.Seconds()), Messages: messages(list)})
	return nil
}

func (r *Relay) waitingSenders(w http.ResponseWriter, q *request) error {
	list, more, err := r.office.Senders(q.http.Context(), q.call())
	if err != nil {
		return err
	}
	if list == nil {
		list = []string{}
	}
	_ = answer(w, http.StatusOK, wire.Waiting{Senders: list, More: more})
	return nil
}

func (r *Relay) confirmMessages(w http.ResponseWriter, q *request) error {
	var lease string
	if err := q.texts(map[string]*string{"lease": &lease}); err != nil {
		return err
	}
	n, err := r.office.Confirm(q.http.Context(), q.call(), lease)
	if err != nil {
		return err
	}
	r.metrics.letters.WithLabelValues("collected").Add(float64(n))
	_ = answer(w, http.StatusOK, wire.Confirmed{Deleted: n})
	return nil
}

func (r *Relay) nack(w http.ResponseWriter, q *request) error {
	var hash, sig string
	if err := q.texts(map[string]*string{"hash": &hash, "sig": &sig}); err != nil {
		return err
	}
	var sum [32]byte
	ok, err := wire.Verify(q.auth.SigningKey, wire.NackText(q.auth.Fingerprint, hash), sig)
	if !wire.IsHash(hash) || err != nil || !ok {
		return bad(wire.TextBadNack)
	}
	if _, err := hex.Decode(sum[:], []byte(hash)); err != nil {
		return bad(wire.TextBadNack)
	}
	if err := r.office.Refuse(q.http.Context(), q.call(), sum, sig); err != nil {
		return err
	}
	_ = answer(w, http.StatusOK, wire.OK{OK: true})
	return nil
}
