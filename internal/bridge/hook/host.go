package hook

// Host is the process of the person's CLI that runs this program, through shells or not; 0 when it cannot be told. It asks ps and takes at most a few
// seconds.
func Host() int { return cliProcess() }

// Running says whether a process is there.
func Running(pid int) bool { return running(pid) }
