package file

// TidyArgs is the River job that forgets files nobody can see any more, and
// deletes their bytes.
type TidyArgs struct{}

// Kind is River's name of the job.
func (TidyArgs) Kind() string { return "tidy_files" }
