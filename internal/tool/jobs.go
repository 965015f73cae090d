package tool

// PruneCallsArgs is the River job that forgets old records of tool calls.
type PruneCallsArgs struct {
	Days int `json:"days"`
}

// Kind is River's name of the job.
func (PruneCallsArgs) Kind() string { return "prune_tool_calls" }
