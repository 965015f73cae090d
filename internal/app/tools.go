package app

import (
	"slices"

	"github.com/agntchat/agntchat/internal/flow"
)

// buildTools makes the one table of tools. The order is that of every agent's
// catalogue: add at the end of a group, never in between.
func (a *App) buildTools() (err error) {
	platform := &flow.PlatformTools{DB: a.db, Chat: a.Chat, Gateway: a.Gateway}
	a.Tools, err = flow.NewTools(a.db, a.log, slices.Concat(
		platform.List(),
	)...)
	return err
}
