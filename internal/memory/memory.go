// Package memory owns what is remembered beyond the words of a room:
// conversation_memories with their changes (one document for each room),
// agent_memories (what one agent keeps) and family_memories (what all agents of one
// owner share). Who may read and recall what is decided in flow.
package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Limits in characters, bytes and rows.
const (
	MaxKey         = 200
	MaxContent     = 8000
	MaxDescription = 1000
	MaxTags        = 20
	MaxTag         = 50
	MaxMetadata    = 16 << 10 // bytes
	MaxOfAgent     = 1000     // memories of one agent
	MaxOfFamily    = 2000     // of one owner
)

// Categories are all kinds of memories (desktop contract 5.15).
var Categories = []string{"fact", "preference", "learning", "relationship", "skill"}

// Memory is one thing that is remembered. An agent's has AgentID and CallerID, a
// family's OwnerID, OrganizationID and LastWrittenBy.
type Memory struct {
	ID                   id.Memory
	AgentID              id.Participant
	OwnerID              id.Participant
	OrganizationID       id.Organization // zero: everywhere
	Category             string
	Key                  string
	Content              string
	Confidence           float64 // 0 to 1
	Description          *string
	Tags                 []string
	Metadata             json.RawMessage
	SourceConversationID id.Conversation
	SourceMessageID      id.Message
	SourceTaskID         id.Task
	CallerID             id.Participant // for whom the agent worked when it learned it
	LastWrittenBy        id.Participant
	Untrusted            bool // text of strangers had entered the turn that wrote it
	InsertedAt           time.Time
	UpdatedAt            time.Time
}

// Write is what is to be remembered; nil fields keep what a memory of the same
// category and key has.
type Write struct {
	Category    string
	Key         string
	Content     string
	Confidence  *float64
	Description *string
	Tags        *[]string
	Metadata    json.RawMessage

	SourceConversationID id.Conversation
	SourceMessageID      id.Message
	SourceTaskID         id.Task
	WriterID             id.Participant // of a family memory
	CallerID             id.Participant // of an agent's
	Untrusted            bool
}

var errInvalid = fault.New(fault.Invalid, "invalid", "This cannot be remembered.")

// Clean trims and checks a Write; every complaint names its field.
func (w *Write) Clean() error {
	w.Category, w.Key, w.Content = strings.ToLower(strings.TrimSpace(w.Category)), strings.TrimSpace(w.Key), strings.TrimSpace(w.Content)
	if !slices.Contains(Categories, w.Category) {
		return errInvalid.With("category", "unknown", "must be one of "+strings.Join(Categories, ", "))
	}
	if err := text("key", w.Key, MaxKey); err != nil {
		return err
	}
	if err := text("content", w.Content, MaxContent); err != nil {
		return err
	}
	return cleanRest(w.Confidence, w.Description, w.Tags, w.Metadata)
}

func cleanRest(confidence *float64, description *string, tags *[]string, metadata json.RawMessage) error {
	if confidence != nil && (*confidence < 0 || *confidence > 1 || *confidence != *confidence) {
		return errInvalid.With("confidence", "range", "must be a number from 0 to 1")
	}
	if description != nil {
		if *description = strings.TrimSpace(*description); *description != "" {
			if err := text("description", *description, MaxDescription); err != nil {
				return err
			}
		}
	}
	if tags != nil {
		list, err := cleanTags(*tags)
		if err != nil {
			return err
		}
		*tags = list
	}
	if len(metadata) > MaxMetadata {
		return errInvalid.With("metadata", "too_large", fmt.Sprintf("at most %d bytes", MaxMetadata))
	}
	if _, err := document(metadata); err != nil {
		return errInvalid.With("metadata", "object", err.Error())
	}
	return nil
}

func text(field, s string, most int) error {
	switch {
	case s == "":
		return errInvalid.With(field, "required", "must not be empty")
	case utf8.RuneCountInString(s) > most:
		return errInvalid.With(field, "too_long", fmt.Sprintf("at most %d characters", most))
	case !sound(s):
		return errInvalid.With(field, "characters", "the character U+0000 is not allowed")
	}
	return nil
}

func sound(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func cleanTags(tags []string) ([]string, error) {
	out := []string{}
	for _, t := range tags {
		if t = strings.ToLower(strings.TrimSpace(t)); t == "" || slices.Contains(out, t) {
			continue
		}
		if utf8.RuneCountInString(t) > MaxTag || !sound(t) {
			return nil, errInvalid.With("tags", "too_long", fmt.Sprintf("a tag has at most %d characters", MaxTag))
		}
		out = append(out, t)
	}
	if len(out) > MaxTags {
		return nil, errInvalid.With("tags", "too_many", fmt.Sprintf("at most %d tags", MaxTags))
	}
	return out, nil
}

// ErrExists is the answer to a new memory under a key that is taken.
var ErrExists = fault.New(fault.Conflict, "memory_exists", "There is a memory with this category and key already, and it stays as it is.")

var (
	errFull       = fault.Newf(fault.Conflict, "memory_full", "This agent remembers %d things, which is the most. Forget some first.", MaxOfAgent)
	errFamilyFull = fault.Newf(fault.Conflict, "memory_full", "The agents of this owner share %d memories, which is the most. Forget some first.", MaxOfFamily)
)

// Mode says what may be replaced.
type Mode string

// The modes. ReplaceOwn replaces only what was learned for the same caller.
const (
	Add        Mode = "add"
	Replace    Mode = "replace"
	ReplaceOwn Mode = "replace_own"
)

// SaveTx stores a cleaned Write of an agent. What stands under its category and key and
// may not be replaced is ErrExists; an untrusted Write replaces only what was untrusted. memory_full: the agent remembers as much as it may.
func SaveTx(ctx context.Context, tx *pg.Tx, agent id.Participant, w Write, mode Mode) (Memory, error) {
	m, ok, err := one(ctx, tx, saveSQL, id.New[id.Memory](), agent, w.Category, w.Key, w.Content, w.Confidence, w.Description, w.Tags, jsonb(w.Metadata),
		w.SourceConversationID, w.SourceMessageID, w.SourceTaskID, w.CallerID, w.Untrusted, MaxOfAgent, string(mode))
	if err != nil || ok {
		return m, err
	}
	return Memory{}, whyNot(ctx, tx, errFull, existsSQL, agent, w.Category, w.Key)
}

// SaveFamilyTx is SaveTx for what an owner's agents share, in a workspace or, with
// the zero id, everywhere; without replace a taken key is ErrExists.
func SaveFamilyTx(ctx context.Context, tx *pg.Tx, owner id.Participant, org id.Organization, w Write, replace bool) (Memory, error) {
	m, ok, err := one(ctx, tx, saveFamilySQL, id.New[id.Memory](), owner, org, w.Category, w.Key, w.Content, w.Confidence, w.Description, w.Tags, jsonb(w.Metadata),
		w.SourceConversationID, w.SourceMessageID, w.SourceTaskID, w.WriterID, w.Untrusted, MaxOfFamily, replace)
	if err != nil || ok {
		return m, err
	}
	return Memory{}, whyNot(ctx, tx, errFamilyFull, existsFamilySQL, owner, w.Category, w.Key, org)
}

// whyNot tells why nothing was stored: the key is taken, or there is no room.
func whyNot(ctx context.Context, tx *pg.Tx, full error, sql string, args ...any) error {
	var exists bool
	if err := tx.QueryRow(ctx, sql, args...).Scan(&exists); err != nil {
		return fmt.Errorf("look for memory: %w", err)
	}
	if exists {
		return ErrExists
	}
	return full
}

// Edit changes a memory; nil fields stay.
type Edit struct {
	Content     *string
	Confidence  *float64
	Description *string
	Tags        *[]string
}

// Clean trims and checks an Edit.
func (e *Edit) Clean() error {
	if e.Content != nil {
		*e.Content = strings.TrimSpace(*e.Content)
		if err := text("content", *e.Content, MaxContent); err != nil {
			return err
		}
	}
	return cleanRest(e.Confidence, e.Description, e.Tags, nil)
}

// EditTx changes a memory of the agent; fault.ErrNotFound when it has none of that id.
// What a person has rewritten is no text of strangers any more.
func EditTx(ctx context.Context, tx *pg.Tx, agent id.Participant, mid id.Memory, e Edit) (Memory, error) {
	return found(one(ctx, tx, editSQL, agent, mid, e.Content, e.Confidence, e.Description, e.Tags))
}

// FindTx is the memory under a category and key; fault.ErrNotFound.
func FindTx(ctx context.Context, tx *pg.Tx, agent id.Participant, category, key string) (mid id.Memory, err error) {
	err = tx.QueryRow(ctx, findSQL, agent, category, strings.TrimSpace(key)).Scan(&mid)
	if pg.IsNotFound(err) {
		return mid, fault.ErrNotFound
	}
	if err != nil {
		return mid, fmt.Errorf("find memory: %w", err)
	}
	return mid, nil
}

// DeleteTx forgets memories of the agent and counts those that were there.
func DeleteTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ids []id.Memory) (int, error) {
	return del(ctx, tx, deleteSQL, agent, ids)
}

// DeleteFamilyTx forgets memories that an owner's agents share.
func DeleteFamilyTx(ctx context.Context, tx *pg.Tx, owner id.Participant, ids []id.Memory) (int, error) {
	return del(ctx, tx, deleteFamilySQL, owner, ids)
}

// DeleteOfOwnerTx forgets memories of any agent of an owner.
func DeleteOfOwnerTx(ctx context.Context, tx *pg.Tx, owner id.Participant, ids []id.Memory) (int, error) {
	return del(ctx, tx, deleteOfOwnerSQL, owner, ids)
}

func del(ctx context.Context, tx *pg.Tx, sql string, whose id.Participant, ids []id.Memory) (int, error) {
	tag, err := tx.Exec(ctx, sql, whose, id.Strings(ids))
	if err != nil {
		return 0, fmt.Errorf("forget memories: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// ForgetAgentTx forgets everything that a deleted agent kept.
func ForgetAgentTx(ctx context.Context, tx *pg.Tx, agent id.Participant) error {
	return exec(ctx, tx, forgetAgentSQL, agent)
}

// ForgetOwnerTx forgets what the agents of a deleted account shared.
func ForgetOwnerTx(ctx context.Context, tx *pg.Tx, owner id.Participant) error {
	return exec(ctx, tx, forgetOwnerSQL, owner)
}

// ForgetRoomTx forgets the memory of a deleted room. What agents learned there is
// theirs and their owner's alone from now on.
func ForgetRoomTx(ctx context.Context, tx *pg.Tx, c id.Conversation) error {
	for _, sql := range []string{forgetRoomSQL, orphanSQL, orphanFamilySQL} {
		if err := exec(ctx, tx, sql, c); err != nil {
			return err
		}
	}
	return nil
}

func exec(ctx context.Context, tx *pg.Tx, sql string, arg any) error {
	if _, err := tx.Exec(ctx, sql, arg); err != nil {
		return fmt.Errorf("forget memories: %w", err)
	}
	return nil
}

// Filter selects memories. Zero fields select all.
type Filter struct {
	Category string
	Tag      string
	Text     string // every word of it, in any case or inflection
	// Any: one word of Text is enough, and the best matches come first. Else the
	// newest come first.
	Any bool
	// Viewer sees only what was learned in rooms that they are a member of, and in
	// Room. Zero sees everything.
	Viewer id.Participant
	Room   id.Conversation
	// Workspace limits shared memories to those that hold everywhere or there. Zero
	// with Workspaces false are those that hold everywhere.
	Workspace  id.Organization
	Workspaces bool // those of every workspace
	Offset     int
	Limit      int
}

// List are memories of an agent.
func List(ctx context.Context, q pg.Querier, agent id.Participant, f Filter) ([]Memory, error) {
	return list(ctx, q, listSQL, agent, f, nil)
}

// Count counts what List gives without a limit.
func Count(ctx context.Context, q pg.Querier, agent id.Participant, f Filter) (int, error) {
	return count(ctx, q, countSQL, agent, f, nil)
}

// ListFamily are memories that an owner's agents share.
func ListFamily(ctx context.Context, q pg.Querier, owner id.Participant, f Filter) ([]Memory, error) {
	return list(ctx, q, listFamilySQL, owner, f, []any{f.Workspace, f.Workspaces})
}

// CountFamily counts what ListFamily gives without a limit.
func CountFamily(ctx context.Context, q pg.Querier, owner id.Participant, f Filter) (int, error) {
	return count(ctx, q, countFamilySQL, owner, f, []any{f.Workspace, f.Workspaces})
}

// ListOfOwner are memories of all agents of an owner.
func ListOfOwner(ctx context.Context, q pg.Querier, owner id.Participant, f Filter) ([]Memory, error) {
	return list(ctx, q, listOfOwnerSQL, owner, f, nil)
}

func (f Filter) args(whose id.Participant, more []any) []any {
	t := Terms(f.Text)
	return append([]any{whose, f.Category, strings.ToLower(strings.TrimSpace(f.Tag)), strings.TrimSpace(f.Text), t, f.Any, f.Viewer, f.Room}, more...)
}

func list(ctx context.Context, q pg.Querier, sql string, whose id.Participant, f Filter, more []any) ([]Memory, error) {
	args := append(f.args(whose, more), max(1, f.Limit), max(0, f.Offset))
	return pg.Rows[Memory](ctx, q, "list memories", sql, args...)
}

func count(ctx context.Context, q pg.Querier, sql string, whose id.Participant, f Filter, more []any) (n int, err error) {
	if err := q.QueryRow(ctx, sql, f.args(whose, more)...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count memories: %w", err)
	}
	return n, nil
}

func one(ctx context.Context, tx *pg.Tx, sql string, args ...any) (Memory, bool, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return Memory{}, false, fmt.Errorf("save memory: %w", err)
	}
	m, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Memory])
	if pg.IsNotFound(err) {
		return Memory{}, false, nil
	}
	if err != nil {
		return Memory{}, false, fmt.Errorf("save memory: %w", err)
	}
	return m, true, nil
}

func found(m Memory, ok bool, err error) (Memory, error) {
	if err == nil && !ok {
		err = fault.ErrNotFound
	}
	return m, err
}

// jsonb is a parameter for a jsonb column; nil for none.
func jsonb(raw json.RawMessage) *string {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return new(string(raw))
}
