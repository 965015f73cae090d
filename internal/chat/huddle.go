package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The states of a huddle (desktop contract 5.1).
const (
	HuddleOpen      = "open"
	HuddleResolved  = "resolved"
	HuddleAbandoned = "abandoned"
)

// IsHuddle reports a side conversation: a room below another that is no work room.
func (r Room) IsHuddle() bool { return !r.ParentConversationID.IsZero() && r.Type != Task }

// Huddle is what a side conversation says of itself; false for other rooms.
func (r Room) Huddle() (h Huddle, ok bool) {
	if !r.IsHuddle() {
		return h, false
	}
	_ = json.Unmarshal(r.Metadata, &h) // ours; what cannot be read is as if it were absent
	if h.Status == "" {
		h.Status = HuddleOpen
	}
	h.SourceRoomID = r.ParentConversationID
	return h, true
}

// Metadata is the huddle as its room's metadata, in both spellings.
func (h Huddle) Metadata() (json.RawMessage, error) {
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode huddle: %w", err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("encode huddle: %w", err)
	}
	for k, v := range m {
		if rest, ok := strings.CutPrefix(k, "huddle"); ok {
			m["thread"+rest] = v
		}
	}
	return json.Marshal(m)
}

// HuddleKey names who is in a huddle and what it is about. What is left empty does
// not tell huddles apart.
func HuddleKey(members []id.Participant, topic string, anchor id.Message) string {
	ids := make([]string, len(members))
	for n, m := range members {
		ids[n] = m.String()
	}
	slices.Sort(ids)
	about := "none"
	switch topic = strings.Join(strings.Fields(cases.Fold().String(topic)), " "); {
	case topic != "":
		about = "topic " + topic
	case !anchor.IsZero():
		about = "message " + anchor.String()
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(ids), " ") + "\n" + about))
	return hex.EncodeToString(sum[:])
}

// FindHuddle is the open huddle of this name below a room; zero when there is none.
func FindHuddle(ctx context.Context, q pg.Querier, parent id.Conversation, key string) (c id.Conversation, err error) {
	if err = q.QueryRow(ctx, sqlFindHuddle, parent, key).Scan(&c); err != nil && !pg.IsNotFound(err) {
		return c, fmt.Errorf("find huddle: %w", err)
	}
	return c, nil
}

// OpenHuddles counts the open huddles right below a room.
func OpenHuddles(ctx context.Context, q pg.Querier, parent id.Conversation) (n int, err error) {
	if err = q.QueryRow(ctx, sqlOpenHuddles, parent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count huddles: %w", err)
	}
	return n, nil
}

// FreeHuddleKeyTx takes its name from a huddle that is closed.
func FreeHuddleKeyTx(ctx context.Context, tx *pg.Tx, c id.Conversation) error {
	return exec(ctx, tx, "free huddle", sqlFreeHuddleKey, c)
}

// HuddlesOf are the huddles right below a room, closed ones too.
func HuddlesOf(ctx context.Context, q pg.Querier, parent id.Conversation) ([]id.Conversation, error) {
	return conversations(ctx, q, sqlHuddlesOf, parent)
}

// HuddlesBelow are the huddles at any depth below a room in which the participant
// has no seat.
func HuddlesBelow(ctx context.Context, q pg.Querier, c id.Conversation, p id.Participant) ([]id.Conversation, error) {
	return conversations(ctx, q, sqlHuddlesBelow, c, p)
}

func conversations(ctx context.Context, q pg.Querier, sql string, args ...any) ([]id.Conversation, error) {
	return pg.Column[id.Conversation](ctx, q, "list huddles", sql, args...)
}

// Depth is how many huddles a room lies in: 0 for a room of the list.
func Depth(ctx context.Context, q pg.Querier, c id.Conversation) (n int, err error) {
	if err = q.QueryRow(ctx, sqlDepth, c).Scan(&n); err != nil {
		return 0, fmt.Errorf("depth of room: %w", err)
	}
	return n, nil
}

// ReaderRole is Role, and Observer of a huddle for who has a seat in a room above it
// (decision 22). It is one statement.
func ReaderRole(ctx context.Context, q pg.Querier, c id.Conversation, p id.Participant) (role string, err error) {
	if err = q.QueryRow(ctx, sqlReaderRole, c, p).Scan(&role); err != nil {
		return "", fmt.Errorf("load role: %w", err)
	}
	return role, nil
}
