package access

import (
	"slices"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
)

// TaskFacts is what a decision about a task needs.
type TaskFacts struct {
	RequesterID id.Participant
	CreatedBy   id.Participant
	Assignees   []id.Participant
	Owners      []id.Participant // of the assignees that are agents, and of an agent that created it
	Member      bool             // the actor sits in the room where it was asked for or is done
	RoomAdmin   bool             // the actor administers the room where it was asked for
}

// ReadTask is for members of its rooms, who asked, who does it and the owners of
// agents that do. Others cannot tell the task from an absent one.
func ReadTask(a Actor, f TaskFacts) error {
	if a.Kind == Job || f.Member || involved(a, f) {
		return nil
	}
	return fault.ErrNotFound
}

func involved(a Actor, f TaskFacts) bool {
	return a.Kind != None && (a.ID == f.RequesterID || a.ID == f.CreatedBy || slices.Contains(f.Assignees, a.ID) || (a.Kind == Person && slices.Contains(f.Owners, a.ID)))
}

// SteerTask is for who may cancel, interrupt, reassign, edit and repeat it: who asked
// for it, who made it, the owners of its agents, and administrators of the room.
func SteerTask(a Actor, f TaskFacts) error {
	if err := ReadTask(a, f); err != nil {
		return err
	}
	if a.Kind == Job || a.ID == f.RequesterID || a.ID == f.CreatedBy || f.RoomAdmin || (a.Kind == Person && slices.Contains(f.Owners, a.ID)) {
		return nil
	}
	return fault.New(fault.Forbidden, "not_your_task", "Only who asked for this task, or the owner of its agent, can do this.")
}

// WorkTask is for who is to do it.
func WorkTask(a Actor, f TaskFacts) error {
	if err := ReadTask(a, f); err != nil {
		return err
	}
	if slices.Contains(f.Assignees, a.ID) {
		return nil
	}
	return fault.New(fault.Forbidden, "not_assigned", "Only who is to do this task can do this.")
}
