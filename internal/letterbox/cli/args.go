package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Flag is an option of a command. Its first name is the one that Args know it by.
type Flag struct {
	Names []string // with their dashes: "--user", "-u"
	Value string   // what it takes, for the help; empty for a switch
	Help  string
}

// common are the flags of every command that acts as an identity.
var common = []Flag{
	{[]string{"--dir"}, "DIR", "folder of the identity"},
	{[]string{"--user", "-u"}, "NAME", "name of the identity below the home folder"},
	{[]string{"--relay", "-r"}, "URL", "address of the relay, exactly as its operator gives it"},
	{[]string{"--api-key"}, "KEY", "key that the relay asks for; better in RETALK_API_KEY, where other users cannot see it"},
	{[]string{"--passphrase", "-p"}, "SECRET", "passphrase of the identity; better in a file, where other users cannot see it"},
	{[]string{"--passphrase-file", "--passphrase-path"}, "FILE", "file that holds the passphrase"},
	{[]string{"--no-passphrase", "-np"}, "", "the identity has no passphrase: its file's mode is all that protects it"},
}

// everywhere are the flags of every command.
var everywhere = []Flag{
	{[]string{"--json"}, "", "print JSON, one object a line"},
	{[]string{"--help", "-h"}, "", "show this help"},
}

// Args are the flags and positionals of a call.
type Args struct {
	flags map[string][]string
	pos   []string
}

// Has says whether a flag was given.
func (a Args) Has(name string) bool { return len(a.flags[name]) > 0 }

// Get is the last value given to a flag, empty when there is none.
func (a Args) Get(name string) string {
	if v := a.flags[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// All are the values given to a flag.
func (a Args) All(name string) []string { return a.flags[name] }

// Pos is a positional, empty when there are fewer.
func (a Args) Pos(n int) string {
	if n < len(a.pos) {
		return a.pos[n]
	}
	return ""
}

// Count is the number of positionals.
func (a Args) Count() int { return len(a.pos) }

// parse takes flags before, between and after positionals, as retalk does: --flag value, --flag=value, -f value, -fvalue, and
// any beginning of a long flag that no other one shares. After -- everything is a positional.
func parse(flags []Flag, most int, args []string) (Args, error) {
	a := Args{flags: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			a.pos = append(a.pos, args[i+1:]...)
			break
		}
		if !looksLikeFlag(arg) {
			a.pos = append(a.pos, arg)
			continue
		}
		f, value, attached, err := match(flags, arg)
		switch {
		case err != nil:
			return a, err
		case f.Value == "" && attached:
			return a, usagef("%s takes no value", f.Names[0])
		case f.Value == "":
			value = "true"
		case !attached:
			i++
			if i >= len(args) || exact(flags, args[i]) {
				return a, usagef("%s needs a value: %s", arg, f.Value)
			}
			value = args[i]
		}
		a.flags[f.Names[0]] = append(a.flags[f.Names[0]], value)
	}
	if len(a.pos) > most && !a.Has("--help") {
		return a, usagef("unexpected '%s'", a.pos[most])
	}
	return a, nil
}

// looksLikeFlag: a lone dash stands for standard input, and a negative number is a text.
func looksLikeFlag(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(arg, 64)
	return err != nil
}

func exact(flags []Flag, arg string) bool {
	return slices.ContainsFunc(flags, func(f Flag) bool { return slices.Contains(f.Names, arg) })
}

// match finds the flag that arg means, and the value that is attached to it.
func match(flags []Flag, arg string) (f Flag, value string, attached bool, err error) {
	name, value, attached := strings.Cut(arg, "=")
	var near []Flag
	for _, f := range flags {
		if slices.Contains(f.Names, name) {
			return f, value, attached, nil
		}
		if strings.HasPrefix(name, "--") && slices.ContainsFunc(f.Names, func(n string) bool { return strings.HasPrefix(n, name) }) {
			near = append(near, f)
		}
	}
	switch {
	case len(near) == 1:
		return near[0], value, attached, nil
	case len(near) > 1:
		names := make([]string, len(near))
		for i, f := range near {
			names[i] = f.Names[0]
		}
		return f, "", false, usagef("%s could be %s", name, strings.Join(names, " or "))
	}
	for _, f := range flags { // -uNAME
		for _, n := range f.Names {
			if len(n) == 2 && f.Value != "" && strings.HasPrefix(arg, n) {
				return f, arg[2:], true, nil
			}
		}
	}
	return f, "", false, usagef("unknown flag %s", fmt.Sprintf("%.40q", name))
}
