package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Usage is what one model run used (bridge contract 3.6). Turn is the bridge's own object.
type Usage struct {
	AgentID        id.Participant
	ConversationID id.Conversation
	TurnID         id.Turn
	Model          string
	Tokens         Tokens
	Turn           json.RawMessage
}

// Fault is what a bridge reports to have gone wrong.
type Fault struct {
	AgentID        id.Participant
	Kind           string
	ConversationID id.Conversation
	MessageID      id.Message
	Detail         string // cut at 1,000 bytes
	Meta           json.RawMessage
}

const maxNames = 500

// SaveUsageTx stores it. Negative counts are refused, absurd ones cut.
func SaveUsageTx(ctx context.Context, tx *pg.Tx, u Usage) error {
	t := u.Tokens
	if min(t.Input, t.Output, t.CacheRead, t.CacheWrite) < 0 {
		return fault.New(fault.Invalid, "invalid", "Token counts cannot be negative.").With("usage", "range", "must not be negative")
	}
	t = t.bounded()
	_, err := tx.Exec(ctx, queryUsage, u.AgentID, u.ConversationID, u.TurnID, cut(clean(u.Model), 200), t.Input, t.Output, t.CacheRead, t.CacheWrite, object(u.Turn))
	if err != nil {
		return fmt.Errorf("save usage: %w", err)
	}
	return nil
}

// AddUsageOf sums the usage that the agent's stock bridges reported since a claim, in
// a batch. Their reports name no turn, so it is nothing when the agent works
// elsewhere too.
func AddUsageOf(b *pg.Batch, agent id.Participant, q id.QueueItem, t *Tokens) {
	b.Add(pg.ReadValues(new(bool), &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite), queryUsageOf, agent, q)
}

// SaveFaultTx stores it.
func SaveFaultTx(ctx context.Context, tx *pg.Tx, f Fault) error {
	kind := cut(clean(strings.TrimSpace(f.Kind)), 100)
	if kind == "" {
		return fault.New(fault.Invalid, "invalid", "The report does not say what went wrong.").With("kind", "required", "must not be empty")
	}
	if _, err := tx.Exec(ctx, queryFault, f.AgentID, kind, f.ConversationID, f.MessageID, cut(clean(f.Detail), 1000), object(f.Meta)); err != nil {
		return fmt.Errorf("save fault: %w", err)
	}
	return nil
}

// SaveToolUsesTx counts the names, which come as the CLI prints them, and stores
// one row per name. Names beyond the first 500 are ignored.
func SaveToolUsesTx(ctx context.Context, tx *pg.Tx, agent id.Participant, conv id.Conversation, names []string) error {
	index := map[string]int{}
	var kinds []string
	var counts []int32
	for _, n := range names[:min(len(names), maxNames)] {
		if n = cut(clean(n), 200); n == "" {
			continue
		}
		at, ok := index[n]
		if !ok {
			at = len(kinds)
			index[n], kinds, counts = at, append(kinds, n), append(counts, 0)
		}
		counts[at]++
	}
	if len(kinds) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, queryToolUses, agent, conv, kinds, counts); err != nil {
		return fmt.Errorf("save tool uses: %w", err)
	}
	return nil
}

// SaveDirectiveTx keeps the stable part of what an agent was told, once per content.
// Hash is hex.
func SaveDirectiveTx(ctx context.Context, tx *pg.Tx, agent id.Participant, hash string, parts []string) error {
	body, err := json.Marshal(parts)
	if err != nil {
		return fmt.Errorf("save directive: %w", err)
	}
	if _, err := tx.Exec(ctx, queryDirective, hash, agent, string(body)); err != nil {
		return fmt.Errorf("save directive: %w", err)
	}
	return nil
}

// object makes bridge JSON storable: anything that is not an object, or holds the
// one character jsonb cannot, becomes {}.
func object(b json.RawMessage) string {
	if len(b) == 0 || len(b) > 64<<10 || !json.Valid(b) || b[0] != '{' || strings.Contains(string(b), `\u0000`) {
		return "{}"
	}
	return string(b)
}
