package cli

// ErrFailed ends a command with exit code 2 when everything was said already.
var ErrFailed = errQuiet

// Serious gives an error exit code 1 when it is a false key, as for all commands that send or receive.
func Serious(err error) error { return serious(err) }

// Usagef is wrong usage: exit code 2.
func Usagef(format string, args ...any) error { return usagef(format, args...) }
