package post

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Kinds of envelope (contract letters 2.4).
const (
	kindMessage = "msg"
	kindAck     = "ack"
	kindContact = "contact"
	kindLeave   = "group_leave"
	kindRequest = "contact_request"
)

// envelope is the text inside a letter.
type envelope struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Text    *string   `json:"text,omitempty"`
	Name    *string   `json:"name,omitempty"`
	Group   *roster   `json:"group,omitempty"`
	Thread  string    `json:"mid,omitempty"`
	Card    *WireCard `json:"card,omitempty"`
	GroupID string    `json:"group_id,omitempty"`
	Code    string    `json:"code,omitempty"`
	Auto    int       `json:"auto,omitempty"` // ours: see [Box.Automatic]
	Pad     string    `json:"pad,omitempty"`  // ours: fills the envelope up; clients ignore members they do not know
}

type roster struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

// WireCard is a contact as people hand it on (contract letters 2.9). Keys are empty when it is not verified.
type WireCard struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	IdentityKey string `json:"identity_key"`
	SigningKey  string `json:"signing_key"`
	Verified    bool   `json:"verified"`
	Relay       string `json:"relay,omitempty"` // only on one's own card
}

// cardOf is a contact's card.
func cardOf(c store.Contact) WireCard {
	return WireCard{Fingerprint: c.Address, Name: c.Name, IdentityKey: c.Identity, SigningKey: c.Signing, Verified: c.Verified()}
}

// Kind is what a letter is.
type Kind string

// The kinds.
const (
	Chat            Kind = "chat"
	Contact         Kind = "contact"                  // a shared card
	GroupLeave      Kind = "group_leave"              // a member left
	ContactAccepted Kind = "contact_accepted"         // a stranger used an invite code and is a contact now
	ContactRejected Kind = "contact_request_rejected" // a stranger's code was not good
)

// Letter is one opened letter. Everything a peer chose (Name when it begins with ~, Text, Group, Card) is third-party data.
type Letter struct {
	ID       string // of the envelope; the same letter always has the same
	Kind     Kind
	From     string  // address, proven
	Name     string  // the contact's name, or ~ and what the sender calls itself, or empty
	Verified bool    // the sender is a contact whose keys are pinned
	At       float64 // when the relay got it, Unix seconds

	Text    string
	Group   string // name on this side
	GroupID string
	Thread  string // id that all copies of a group letter share
	Auto    int    // how many automatic letters led to it, itself included, as its sender says; 0 for one that a person asked for
	Card    *WireCard
	Code    string // of ContactAccepted
	Reason  string // of ContactRejected
}

// Line is the letter as one line of JSON without its end: members, order and form of contract letters section 3, ASCII only.
func (l Letter) Line() []byte {
	o := Object{}
	switch l.Kind {
	case ContactAccepted:
		o = o.Add("kind", l.Kind).Add("code", l.Code).Add("from", l.From).Add("name", l.Name).Add("card", l.Card)
	case ContactRejected:
		o = o.Add("kind", l.Kind).Add("from", l.From).Add("reason", l.Reason)
	default:
		o = o.Add("id", l.ID).Add("from", l.From).Add("name", l.Name)
		switch l.Kind {
		case Contact:
			o = o.Add("kind", l.Kind).Add("card", l.Card)
		case GroupLeave:
			o = o.Add("kind", l.Kind).Add("group_id", l.GroupID)
		default:
			o = o.Add("text", l.Text)
			if l.GroupID != "" {
				o = o.Add("group", l.Group).Add("group_id", l.GroupID)
			}
			if l.Auto > 0 {
				o = o.Add("auto", l.Auto)
			}
		}
	}
	return o.Bytes()
}

// decodeEnvelope reads what was inside a letter. ok is false for what is no envelope at all. Members of the wrong type are as
// if they were not there: whatever a peer writes, the letters beside it arrive.
func decodeEnvelope(plain []byte) (e envelope, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(plain, &members) != nil || members == nil {
		return e, false
	}
	text := func(name string) *string {
		var s *string
		if json.Unmarshal(members[name], &s) != nil {
			return nil
		}
		return s
	}
	value := func(name string) string {
		if s := text(name); s != nil {
			return *s
		}
		return ""
	}
	e = envelope{ID: value("id"), Kind: value("kind"), Text: text("text"), Name: text("name"), Thread: value("mid"), GroupID: value("group_id"), Code: value("code")}
	if json.Unmarshal(members["group"], &e.Group) != nil {
		e.Group = nil
	}
	if json.Unmarshal(members["card"], &e.Card) != nil {
		e.Card = nil
	}
	if json.Unmarshal(members["auto"], &e.Auto) != nil || e.Auto < 0 {
		e.Auto = 0
	}
	return e, e.ID != "" && len(e.ID) <= 128
}

// usable says whether a foreign roster can be adopted at all.
func (r *roster) usable() bool {
	if r == nil || r.ID == "" || len(r.ID) > 128 || len(r.Members) == 0 {
		return false
	}
	for _, m := range r.Members {
		if !letter.IsAddress(m) {
			return false
		}
	}
	return true
}

// chosenName is a name that somebody else chose for a contact or a group, as it is saved: printable, and without the blanks at its ends
// and between its words that would make it look like another one.
func chosenName(name string) string {
	return strings.Join(strings.Fields(Printable(name, 80)), " ")
}

// Printable makes foreign text safe to show on one line of a terminal: no control or invisible characters, at most limit
// characters.
func Printable(s string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(clean); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return clean
}
