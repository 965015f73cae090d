package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/speak"
)

// Keys of metadata that only the server writes.
var serverKeys = [...]string{"awaiting_agent", "not_answered", "notice", "unresolved_mentions", "huddles", "unrouted_asides"}

// reportKeys are metadata by which the server says that a message is what came of a task
// or a huddle; it is shown as that, and is no answer of a turn.
var reportKeys = [...]string{metaReport, metaHuddleReport, "huddle_status", "huddle_outcome", "huddle_topic"}

var (
	typeWord       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)
	errInvalidPost = fault.New(fault.Invalid, "invalid", "This message cannot be stored.")
)

// draft is a Post that was checked, with its metadata open.
type draft struct {
	Post
	id   id.Message // zero: not chosen yet
	kind string     // message type, "" is text
	meta map[string]json.RawMessage
	// hints are the ids that the writer's client chose for names.
	hints map[id.Participant]bool
	// streamID joins the message to its stream; empty when it has none.
	streamID string
	failed   bool // reports a failure: errorKind
	quiet    bool // wake nobody: source_relay, or a failure
}

// check reads a Post: limits of decision 5, shapes, what a person may not send.
// Every error says what is wrong with which field.
func check(actor access.Actor, p Post) (draft, error) {
	d := draft{Post: p}
	if actor.IsAgent() {
		d.Content = storable(d.Content)
	}
	if d.ContentType == "" {
		d.ContentType = "text"
	}
	if d.MessageType != nil && (*d.MessageType == "" || *d.MessageType == "text") {
		d.MessageType = nil
	}
	if d.MessageType != nil {
		d.kind = *d.MessageType
	}
	if d.CorrelationID != nil && *d.CorrelationID == "" {
		d.CorrelationID = nil
	}
	if err := d.checkWords(actor); err != nil {
		return draft{}, err
	}
	if err := d.checkContent(); err != nil {
		return draft{}, err
	}
	return d, d.openMetadata(actor)
}

func (d *draft) checkWords(actor access.Actor) error {
	switch {
	case !typeWord.MatchString(d.ContentType):
		return errInvalidPost.With("contentType", "format", "contentType must be a word of at most 64 letters.")
	case d.kind != "" && !typeWord.MatchString(d.kind):
		return errInvalidPost.With("messageType", "format", "messageType must be a word of at most 64 letters.")
	case actor.IsPerson() && speak.Silent(d.kind):
		return errInvalidPost.With("messageType", "not_yours", "Only agents and the server send messages of this type.")
	case actor.Kind != access.Job && reserved(d.kind):
		return errInvalidPost.With("messageType", "not_yours", "Only the server sends messages of this type.")
	case d.CorrelationID != nil && len(*d.CorrelationID) > 200:
		return errInvalidPost.With("correlationId", "too_long", "correlationId may have at most 200 bytes.")
	case len(d.ClientKey) > chat.MaxClientKey:
		return errInvalidPost.With("clientKey", "too_long", fmt.Sprintf("The client nonce or idempotency key may have at most %d bytes.", chat.MaxClientKey))
	case !clean(d.ClientKey) || (d.CorrelationID != nil && !clean(*d.CorrelationID)):
		return errInvalidPost.With("clientKey", "characters", "A key may not hold control characters.")
	}
	return nil
}

// reserved types are the server's own, however they are written: clients show
// them as its lines.
func reserved(kind string) bool {
	return strings.EqualFold(kind, noticeType) || strings.EqualFold(kind, "system")
}

func (d *draft) checkContent() error {
	switch n := utf8.RuneCountInString(d.Content); {
	case n > chat.MaxContent:
		return fault.Newf(fault.Invalid, "content_too_long", "A message may have at most %d characters; this one has %d.", chat.MaxContent, n).
			With("content", "too_long", fmt.Sprintf("at most %d characters", chat.MaxContent))
	case !clean(d.Content):
		return errInvalidPost.With("content", "characters", "The text may not hold the character U+0000.")
	case len(d.Files) > maxAttachments:
		return fault.Newf(fault.Invalid, "too_many_attachments", "A message may show at most %d files.", maxAttachments).
			With("attachments", "too_many", fmt.Sprintf("at most %d", maxAttachments))
	case strings.TrimSpace(d.Content) == "" && isNull(d.ContentStructured) && len(d.Files) == 0:
		return fault.New(fault.Invalid, "content_empty", "A message needs some text.").With("content", "required", "Write something.")
	}
	if isNull(d.ContentStructured) {
		d.ContentStructured = nil
		return nil
	}
	if len(d.ContentStructured) > chat.MaxStructured {
		return fault.Newf(fault.Invalid, "structured_too_large", "Structured content may have at most %d bytes.", chat.MaxStructured).
			With("contentStructured", "too_large", fmt.Sprintf("at most %d bytes", chat.MaxStructured))
	}
	m, err := object(d.ContentStructured)
	if err != nil {
		return errInvalidPost.With("contentStructured", "object", "contentStructured must be a JSON object: "+err.Error())
	}
	d.ContentStructured, err = pack(m)
	return err
}

func (d *draft) openMetadata(actor access.Actor) error {
	if len(d.Metadata) > chat.MaxMetadata {
		return fault.Newf(fault.Invalid, "metadata_too_large", "Metadata may have at most %d bytes.", chat.MaxMetadata).
			With("metadata", "too_large", fmt.Sprintf("at most %d bytes", chat.MaxMetadata))
	}
	m, err := object(d.Metadata)
	if err != nil {
		return errInvalidPost.With("metadata", "object", "metadata must be a JSON object: "+err.Error())
	}
	d.hints = hintsOf(m["mentions"])
	delete(m, "mentions")
	if actor.Kind != access.Job {
		for _, k := range serverKeys {
			delete(m, k)
		}
	}
	if actor.Kind != access.Job && !d.marked {
		for _, k := range reportKeys {
			delete(m, k)
		}
	}
	d.meta = m
	d.streamID = word(m["stream_id"])
	if d.ClientKey == "" {
		d.ClientKey = word(m["client_nonce"])
		if len(d.ClientKey) > chat.MaxClientKey || !clean(d.ClientKey) {
			return errInvalidPost.With("metadata.client_nonce", "too_long", fmt.Sprintf("client_nonce may have at most %d bytes.", chat.MaxClientKey))
		}
	}
	var relay bool
	_ = json.Unmarshal(m["source_relay"], &relay) // absent or of another type: not a relay
	d.failed = actor.IsAgent() && word(m["errorKind"]) != ""
	d.quiet = d.Quiet || d.failed || (actor.IsAgent() && relay)
	return nil
}

// metadata is the open map as it is stored.
func (d *draft) metadata() (json.RawMessage, error) { return pack(d.meta) }

// maxDepth bounds what members send each other: readers in other languages give up
// at some depth (Python's near 1000), and a message that a bridge cannot read would
// take it down again and again.
const maxDepth = 100

// depth is how deep objects and lists of a JSON text are nested.
func depth(raw json.RawMessage) int {
	most, now, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

// object reads a JSON object into its members, each in a form that Postgres
// takes: valid UTF-8, no lone surrogate, no U+0000, not deeper than maxDepth.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if isNull(raw) {
		return map[string]json.RawMessage{}, nil
	}
	if depth(raw) > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("not a JSON object")
	}
	out := make(map[string]json.RawMessage, len(v))
	for k, x := range v {
		b, err := encode(x)
		if err != nil {
			return nil, err
		}
		if !clean(k) || holdsNUL(x) {
			return nil, errors.New("the character U+0000 is not allowed")
		}
		out[k] = b
	}
	return out, nil
}

// holdsNUL looks for U+0000, which jsonb cannot store.
func holdsNUL(v any) bool {
	switch x := v.(type) {
	case string:
		return strings.Contains(x, "\x00")
	case []any:
		return slices.ContainsFunc(x, holdsNUL)
	case map[string]any:
		for k, y := range x {
			if strings.Contains(k, "\x00") || holdsNUL(y) {
				return true
			}
		}
	}
	return false
}

func pack(m map[string]json.RawMessage) (json.RawMessage, error) {
	b, err := encode(m)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	return b, nil
}

// encode leaves <, > and & as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func isNull(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) == 0 || string(t) == "null"
}

// storable leaves out what cannot be stored. What a model says is taken like this: a slip
// of one character must not cost its answer, and nobody could write it again.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

func clean(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// word is a JSON string, or "".
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// hintsOf reads metadata.mentions [{participantId}] of the writer's client: it
// chooses between people of the same name and grants nothing.
func hintsOf(raw json.RawMessage) map[id.Participant]bool {
	var list []map[string]any
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	out := make(map[id.Participant]bool, len(list))
	for _, m := range list {
		s, _ := m["participantId"].(string)
		if p, err := id.Parse[id.Participant](s); err == nil {
			out[p] = true
		}
	}
	return out
}
