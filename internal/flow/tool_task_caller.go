package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/id"
)

// VisibleTo implements TaskRequesters: who may read a task may have it worked on.
func (s *Tasks) VisibleTo(ctx context.Context, who access.Actor, tid id.Task) error {
	_, err := s.may(ctx, s.DB, who, tid, access.ReadTask)
	return err
}
