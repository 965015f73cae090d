package approval

// ExpireArgs is the River job that ends requests whose time is over: one stands at
// the end of every request's life, and one comes by the clock as a net. It carries
// no id: it ends whatever is due.
type ExpireArgs struct{}

// Kind is River's name of the job.
func (ExpireArgs) Kind() string { return "expire_approvals" }
