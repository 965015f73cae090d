package cli

// Parse is parse for the fuzzer, with the flags of send.
func Parse(args []string) (Args, error) {
	cmd, _ := find(table(), "send")
	return parse(append(append(cmd.Flags, common...), everywhere...), cmd.Max, args)
}
