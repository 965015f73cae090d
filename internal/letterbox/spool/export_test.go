package spool

// Beside makes locks stand beside the files, as they do on Windows. Not while other tests run.
func Beside(on bool) (undo func()) {
	was := beside
	beside = on
	return func() { beside = was }
}

// Generation is a file's name n rotations ago.
func Generation(path string, n int) string { return generation(path, n) }
