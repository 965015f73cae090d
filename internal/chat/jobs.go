package chat

// PruneChangesArgs is the River job that forgets old changes of rooms. Clients
// that are further behind refetch the room.
type PruneChangesArgs struct {
	Days int `json:"days"`
}

// Kind is River's name of the job.
func (PruneChangesArgs) Kind() string { return "prune_conversation_changes" }
