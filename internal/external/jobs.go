package external

// SweepArgs is the River job that ends silent sessions.
type SweepArgs struct{}

// Kind is River's name of the job.
func (SweepArgs) Kind() string { return "sweep_sessions" }
