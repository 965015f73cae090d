// Package agent owns the table agents: who an agent is (role, soul, model), who
// owns it, and its API key. What it does belongs to turn, where it runs to executor.
package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Limits in characters (desktop 6) and numbers.
const (
	MaxDescription = 1000
	MaxSoul        = 100_000
	MaxAgents      = 500 // live agents of one owner
)

// Agent is one agent's own record; the jsonb columns are raw. Its name, picture
// and status are those of its participant.
type Agent struct {
	ID                     id.Participant
	OwnerID                id.Participant
	Description            string
	AgentType              string
	Capabilities           []string
	StructuredCapabilities json.RawMessage
	Metadata               json.RawMessage
	ModelConfig            json.RawMessage
	Settings               json.RawMessage
	SoulMD                 string `db:"soul_md"`
	Runtime                string
	ExternalTool           *string // claude_code | codex | other; of runtime external
	PresenceMode           string
	IdleTimeoutSeconds     *int
	OrganizationID         id.Organization
	OrganizationIDs        []id.Organization `db:"organization_ids"`
	LastActiveAt           *time.Time
	KeyPrefix              string
	KeyVersion             int
	InsertedAt             time.Time
	UpdatedAt              time.Time
}

// New is what a new agent needs.
type New struct {
	ID              id.Participant
	OwnerID         id.Participant
	Description     string
	AgentType       string
	Capabilities    []string
	Metadata        json.RawMessage
	ModelConfig     json.RawMessage
	SoulMD          string
	Runtime         string
	ExternalTool    *string
	OrganizationID  id.Organization
	OrganizationIDs []id.Organization
	Key             Key
}

// InsertTx makes the agent.
func InsertTx(ctx context.Context, tx *pg.Tx, n New) error {
	_, err := tx.Exec(ctx, insertSQL, n.ID, n.OwnerID, n.Description, n.AgentType, orNone(n.Capabilities), text(n.Metadata), text(n.ModelConfig),
		n.SoulMD, n.Runtime, n.OrganizationID, pins(n.OrganizationIDs), n.Key.Prefix, n.Key.Hash, n.ExternalTool)
	return err
}

// Patch changes an agent; nil fields stay.
type Patch struct {
	Description            *string
	AgentType              *string
	Capabilities           *[]string
	Metadata               json.RawMessage // merged, null removes a key
	Settings               json.RawMessage // merged, null removes a key
	ModelConfig            json.RawMessage // merged, null removes a key
	StructuredCapabilities json.RawMessage // merged, null removes a key
	SoulMD                 *string
	Runtime                *string
	PresenceMode           *string
	SetPins                bool
	OrganizationIDs        []id.Organization // nil = everywhere
}

// PatchTx applies a change.
func PatchTx(ctx context.Context, tx *pg.Tx, aid id.Participant, p Patch) error {
	var caps []string
	if p.Capabilities != nil {
		caps = orNone(*p.Capabilities)
	}
	_, err := tx.Exec(ctx, patchSQL, aid, p.Description, p.AgentType, p.Capabilities != nil, orNone(caps), text(p.Metadata), text(p.Settings),
		text(p.ModelConfig), text(p.StructuredCapabilities), p.SoulMD, p.Runtime, p.PresenceMode, p.SetPins, pins(p.OrganizationIDs))
	return err
}

// SetKeyTx puts a new key in force and returns its version; tokens of older versions are dead.
func SetKeyTx(ctx context.Context, tx *pg.Tx, aid id.Participant, k Key) (int, error) {
	var version int
	err := tx.QueryRow(ctx, setKeySQL, aid, k.Prefix, k.Hash).Scan(&version)
	return version, err
}

// BumpKeyVersionTx kills all tokens at once without changing the key: at deactivation.
func BumpKeyVersionTx(ctx context.Context, tx *pg.Tx, aid id.Participant) error {
	_, err := tx.Exec(ctx, bumpKeySQL, aid)
	return err
}

// SetRuntimeTx says where an agent lives: local, or external with the person's tool.
func SetRuntimeTx(ctx context.Context, tx *pg.Tx, aid id.Participant, runtime string, tool *string) error {
	_, err := tx.Exec(ctx, setRuntimeSQL, aid, runtime, tool)
	return err
}

// TouchActive notes that the agent did something now.
func TouchActive(ctx context.Context, q pg.Querier, aid id.Participant) error {
	_, err := q.Exec(ctx, touchSQL, aid)
	return err
}

func orNone(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func text(b json.RawMessage) string {
	if len(b) == 0 || string(b) == "null" {
		return "{}"
	}
	return string(b)
}

func pins(ids []id.Organization) *[]string {
	if ids == nil {
		return nil
	}
	s := id.Strings(ids)
	return &s
}
