package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// completion prints a script; the shells ask it for commands, then for flags and fixed words of the command, and for the values of flags.
func (c *Call) completion(context.Context) error {
	var names []string
	var words, values strings.Builder
	shell, ok := shells[c.Pos(0)]
	if !ok {
		return usagef("completion needs a shell: bash, zsh or fish")
	}
	for _, k := range c.commands {
		if k.Hidden {
			continue
		}
		names = append(names, k.Name)
		list := slices.Clone(k.Words)
		flags := slices.Concat(k.Flags, everywhere)
		if !k.Bare {
			flags = slices.Concat(flags, common)
		}
		for _, f := range flags {
			list = append(list, f.Names...)
			if f.Value != "" {
				for _, name := range f.Names {
					values.WriteString(shell.value(k.Name, name, f.Value))
				}
			}
		}
		_, _ = fmt.Fprintf(&words, shell.words, k.Name, strings.Join(list, " "))
	}
	_, err := fmt.Fprint(c.Out, strings.NewReplacer("@NAMES@", strings.Join(names, " "), "@VALUES@", values.String(), "@WORDS@", words.String()).Replace(shell.script))
	return err
}

// shell is how the completion of one shell is written. In its script @NAMES@ are the commands, @VALUES@ what follows flags that take
// a value, @WORDS@ the flags and words of each command.
type shell struct {
	script string
	words  string // of a command: its name and its words
	values map[string]string
	other  string // for values that nobody can guess
}

// value is what is offered for the value of a command's flag.
func (s shell) value(command, flag, kind string) string {
	form, ok := s.values[kind]
	if !ok {
		form = s.other
	}
	return strings.NewReplacer("COMMAND", command, "FLAG", flag, "LONG", strings.TrimLeft(flag, "-")).Replace(form)
}

// What is printed of names in a shell: no identity or no contacts is no error there.
const (
	someContacts = "agnt letter contacts 2>/dev/null | cut -f1"
	someGroups   = "agnt letter group list 2>/dev/null | cut -f1"
	// bash expands the words that it chooses from, and a contact or a group may be named by somebody else.
	plainNames = "grep -xE '[[:alnum:]._+-]+'"
)

var shells = map[string]shell{
	"bash": {
		words: "    %s) words='%s' ;;\n",
		values: map[string]string{
			"PEER": "    'COMMAND FLAG') words=$(" + someContacts + " | " + plainNames + ") ;;\n", "GROUP": "    'COMMAND FLAG') words=$(" + someGroups + " | " + plainNames + ") ;;\n",
			"FILE": "    'COMMAND FLAG') compopt -o default; return ;;\n", "DIR": "    'COMMAND FLAG') compopt -o dirnames; return ;;\n",
		},
		other: "    'COMMAND FLAG') return ;;\n",
		script: `_agnt_letter() {
  local words= cur="${COMP_WORDS[COMP_CWORD]}" last="${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  [ "${COMP_WORDS[1]}" = letter ] || { [ "$COMP_CWORD" = 1 ] && COMPREPLY=($(compgen -W 'bridge connect letter version help' -- "$cur")); return; }
  [ "$COMP_CWORD" -gt 2 ] || words='@NAMES@'
  [ "$COMP_CWORD" -gt 2 ] && case "${COMP_WORDS[2]} $last" in
@VALUES@    *) case "${COMP_WORDS[2]}" in
@WORDS@    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _agnt_letter agnt
`,
	},
	"zsh": {
		words: "    %s) choices=(%s) ;;\n",
		values: map[string]string{
			"PEER": "    'COMMAND FLAG') choices=(${(f)\"$(" + someContacts + ")\"}) ;;\n", "GROUP": "    'COMMAND FLAG') choices=(${(f)\"$(" + someGroups + ")\"}) ;;\n",
			"FILE": "    'COMMAND FLAG') _files; return ;;\n", "DIR": "    'COMMAND FLAG') _files -/; return ;;\n",
		},
		other: "    'COMMAND FLAG') return ;;\n",
		script: `#compdef agnt
_agnt_letter() {
  local -a choices
  if (( CURRENT == 2 )); then
    choices=(bridge connect letter version help)
  elif [[ $words[2] == letter && CURRENT -eq 3 ]]; then
    choices=(@NAMES@)
  elif [[ $words[2] == letter ]]; then
    case "$words[3] $words[CURRENT-1]" in
@VALUES@    *) case $words[3] in
@WORDS@    esac ;;
    esac
  fi
  compadd -a choices || _files
}
compdef _agnt_letter agnt
`,
	},
	"fish": {
		words: "complete -c agnt -n '__fish_seen_subcommand_from letter; and __fish_seen_subcommand_from %s' -a '%s'\n",
		values: map[string]string{
			"PEER": fishFlag + " -x -a '(" + someContacts + ")'\n", "GROUP": fishFlag + " -x -a '(" + someGroups + ")'\n", "FILE": fishFlag + " -r -F\n", "DIR": fishFlag + " -x -a '(__fish_complete_directories)'\n",
		},
		other: fishFlag + " -x\n",
		script: `complete -c agnt -n '__fish_use_subcommand' -a 'bridge connect letter version help'
complete -c agnt -f -n '__fish_seen_subcommand_from letter; and not __fish_seen_subcommand_from @NAMES@' -a '@NAMES@'
@VALUES@@WORDS@`,
	},
}

const fishFlag = "complete -c agnt -n '__fish_seen_subcommand_from letter; and __fish_seen_subcommand_from COMMAND' -l 'LONG'"
