package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// parseFlags reads a command's flags. Asked for help it prints the text and all
// flags to out and returns flag.ErrHelp; a wrong flag is an error of one line.
func parseFlags(fs *flag.FlagSet, args []string, text string, out io.Writer) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprint(out, text)
		printFlags(fs, out)
		return flag.ErrHelp
	case err != nil:
		return fmt.Errorf("%w: %s; %s --help explains all flags", errUsage, twoDashes.Replace(err.Error()), fs.Name())
	}
	return nil
}

// twoDashes writes flags in the package's errors as everywhere else here.
var twoDashes = strings.NewReplacer("defined: -", "defined: --", "argument: -", "argument: --", "for flag -", "for flag --")

// printFlags lists the flags as the texts and the documentation write them.
func printFlags(fs *flag.FlagSet, out io.Writer) {
	fs.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		if kind != "" {
			kind = " " + strings.ToUpper(kind)
		}
		switch f.DefValue {
		case "", "0", "false":
		default:
			if !strings.Contains(text, "default") {
				text += " (default " + f.DefValue + ")"
			}
		}
		_, _ = fmt.Fprintf(out, "  --%s%s\n        %s\n", f.Name, kind, text)
	})
}
