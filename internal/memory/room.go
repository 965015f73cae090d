package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Limits of the memory of a room.
const (
	MaxDocument = 32 << 10 // bytes of the whole document
	MaxReason   = 500      // characters
	keptChanges = 100      // of one room
	maxDepth    = 16
)

// Room is the memory of a conversation: a JSON object and how often it was changed.
type Room struct {
	Memory    json.RawMessage
	Version   int
	UpdatedBy id.Participant
	UpdatedAt time.Time
}

// RoomChange is one change of it. Diff has a member {"from"?, "to"?} for every
// top-level key that changed.
type RoomChange struct {
	Version       int
	Kind          string // patch | replace
	Diff          json.RawMessage
	Reason        string
	ChangedBy     id.Participant
	ChangedByName string
	InsertedAt    time.Time
}

// OfRoom reads the memory of a room; one that nobody has written is empty, at version 0.
func OfRoom(ctx context.Context, q pg.Querier, c id.Conversation) (Room, error) {
	rows, err := q.Query(ctx, roomSQL, c)
	if err != nil {
		return Room{}, fmt.Errorf("read conversation memory: %w", err)
	}
	r, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Room])
	if pg.IsNotFound(err) {
		return Room{Memory: json.RawMessage(`{}`)}, nil
	}
	if err != nil {
		return Room{}, fmt.Errorf("read conversation memory: %w", err)
	}
	return r, nil
}

// RoomWrite changes the memory of a room: Changes are merged into it (RFC 7396: null
// removes a key, objects are merged, everything else is replaced), or with Replace take
// its place. A Base other than nil must be the version that is there.
type RoomWrite struct {
	Changes json.RawMessage
	Replace bool
	Reason  string
	Base    *int
	By      id.Participant
}

// WriteRoomTx changes the memory of a room, which must be locked before. What changes
// nothing gives the same version and an empty diff. Errors: Invalid for what is no
// object or too large, version_conflict.
func WriteRoomTx(ctx context.Context, tx *pg.Tx, c id.Conversation, w RoomWrite) (Room, json.RawMessage, error) {
	field := "changes"
	if w.Replace {
		field = "memory"
	}
	if len(w.Changes) == 0 || string(w.Changes) == "null" {
		return Room{}, nil, errInvalid.With(field, "required", "must be a JSON object")
	}
	changes, err := document(w.Changes)
	if err != nil {
		return Room{}, nil, errInvalid.With(field, "object", err.Error())
	}
	if utf8.RuneCountInString(w.Reason) > MaxReason || !sound(w.Reason) {
		return Room{}, nil, errInvalid.With("reason", "too_long", fmt.Sprintf("at most %d characters", MaxReason))
	}
	if _, err := tx.Exec(ctx, touchRoomSQL, c); err != nil {
		return Room{}, nil, fmt.Errorf("lock conversation memory: %w", err)
	}
	var r Room
	if err := tx.QueryRow(ctx, lockRoomSQL, c).Scan(&r.Memory, &r.Version, &r.UpdatedBy, &r.UpdatedAt); err != nil {
		return Room{}, nil, fmt.Errorf("lock conversation memory: %w", err)
	}
	if w.Base != nil && *w.Base != r.Version {
		return Room{}, nil, fault.Newf(fault.Conflict, "version_conflict", "The memory is at version %d by now: read it and try again.", r.Version).
			With("version", "outdated", "is not the current version")
	}
	before, err := document(r.Memory)
	if err != nil {
		return Room{}, nil, fmt.Errorf("stored conversation memory: %w", err)
	}
	after := changes
	if !w.Replace {
		after, _ = merge(before, changes).(map[string]any)
	}
	diff := differences(before, after)
	if len(diff) == 0 {
		return r, json.RawMessage(`{}`), nil
	}
	return storeRoomTx(ctx, tx, c, r, w, after, diff)
}

func storeRoomTx(ctx context.Context, tx *pg.Tx, c id.Conversation, r Room, w RoomWrite, after map[string]any, diff map[string]change) (Room, json.RawMessage, error) {
	raw, err := plain(after)
	if err != nil {
		return Room{}, nil, err
	}
	if len(raw) > MaxDocument {
		return Room{}, nil, fault.Newf(fault.Invalid, "memory_too_large", "The memory of a conversation may have at most %d bytes; this would make it %d.", MaxDocument, len(raw)).
			With("memory", "too_large", fmt.Sprintf("at most %d bytes", MaxDocument))
	}
	told, err := plain(diff)
	if err != nil {
		return Room{}, nil, err
	}
	r.Memory, r.Version, r.UpdatedBy = raw, r.Version+1, w.By
	if err := tx.QueryRow(ctx, setRoomSQL, c, string(raw), r.Version, w.By).Scan(&r.UpdatedAt); err != nil {
		return Room{}, nil, fmt.Errorf("write conversation memory: %w", err)
	}
	kind := "patch"
	if w.Replace {
		kind = "replace"
	}
	if _, err := tx.Exec(ctx, addChangeSQL, c, r.Version, kind, string(told), strings.TrimSpace(w.Reason), w.By); err != nil {
		return Room{}, nil, fmt.Errorf("write conversation memory: %w", err)
	}
	if _, err := tx.Exec(ctx, pruneChangesSQL, c, r.Version-keptChanges); err != nil {
		return Room{}, nil, fmt.Errorf("prune conversation memory: %w", err)
	}
	return r, told, nil
}

// RoomHistory are changes below a version (0: of the newest), newest first; more says
// that there are older ones.
func RoomHistory(ctx context.Context, q pg.Querier, c id.Conversation, before, limit int) (list []RoomChange, more bool, err error) {
	rows, err := q.Query(ctx, changesSQL, c, before, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list changes of memory: %w", err)
	}
	if list, err = pgx.CollectRows(rows, pgx.RowToStructByName[RoomChange]); err != nil {
		return nil, false, fmt.Errorf("list changes of memory: %w", err)
	}
	if len(list) > limit {
		return list[:limit], true, nil
	}
	return list, false, nil
}

// merge is RFC 7396.
func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	out := make(map[string]any, len(t)+len(p))
	for k, v := range t {
		out[k] = v
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = merge(out[k], v)
	}
	return out
}

func differences(before, after map[string]any) map[string]change {
	out := map[string]change{}
	for k, v := range before {
		if w, ok := after[k]; !ok || !reflect.DeepEqual(v, w) {
			out[k] = change{From: v, To: after[k]}
		}
	}
	for k, v := range after {
		if _, ok := before[k]; !ok {
			out[k] = change{To: v}
		}
	}
	return out
}

// document reads a JSON object that Postgres can store: no U+0000, not too deep.
// Nothing and null are an empty one.
func document(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return map[string]any{}, nil
	}
	if len(raw) > 4*MaxDocument {
		return nil, fmt.Errorf("may have at most %d bytes", MaxDocument)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("must be a JSON object")
	}
	return v, storable(v, 0)
}

func storable(v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("may not be nested deeper than %d", maxDepth)
	}
	switch x := v.(type) {
	case string:
		if strings.Contains(x, "\x00") {
			return errors.New("may not hold the character U+0000")
		}
	case []any:
		for _, e := range x {
			if err := storable(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range x {
			if strings.Contains(k, "\x00") {
				return errors.New("may not hold the character U+0000")
			}
			if err := storable(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain leaves <, > and & as they are.
func plain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode memory: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
