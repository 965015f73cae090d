package flow

import "github.com/agntchat/agntchat/internal/id"

// TaskChanged tells who is involved in a task what became of it, with the whole task
// (desktop contract 3.5). Its lane is that of the asking room.
type TaskChanged struct {
	inRoom
	Name string // task_created | task_assigned | task_updated | task_completed
	Task TaskView
	To   []id.Participant
}
