package tool

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Choice is what was chosen for one agent and one tool: assigned, or taken away.
type Choice struct {
	Tool     string
	Enabled  bool
	ChosenBy id.Participant
	At       time.Time
}

// ChoicesOf reads what was chosen for an agent, by tool name.
func ChoicesOf(ctx context.Context, q pg.Querier, agent id.Participant) (map[string]Choice, error) {
	list, err := pg.Rows[Choice](ctx, q, "read tools of agent", choicesSQL, agent)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Choice, len(list))
	for _, c := range list {
		out[c.Tool] = c
	}
	return out, nil
}

// Choices are the tools that were assigned to the agent (true) or taken away (false).
func Choices(ctx context.Context, q pg.Querier, agent id.Participant) (map[string]bool, error) {
	all, err := ChoicesOf(ctx, q, agent)
	out := make(map[string]bool, len(all))
	for name, c := range all {
		out[name] = c.Enabled
	}
	return out, err
}

// ChooseTx assigns a tool to the agent or takes it away.
func ChooseTx(ctx context.Context, tx *pg.Tx, agent id.Participant, tool string, enabled bool, by id.Participant) error {
	if _, err := tx.Exec(ctx, chooseSQL, agent, tool, enabled, by); err != nil {
		return fmt.Errorf("choose tool: %w", err)
	}
	return nil
}
