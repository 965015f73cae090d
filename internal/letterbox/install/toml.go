package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Each table of ours in a TOML file has a line before it that counts and hashes its lines, so that it is found again exactly. One pair of marks around all would not
// do: Codex, which edits the file too, puts tables of its own between ours, and keeps such a line with the table it stands before.
const markBegins = "# agnt letters: "

// errEdited is a table of ours that somebody changed by hand.
var errEdited = errors.New("a table behind a line `# agnt letters: …` was changed by hand; take it out yourself, with that line")

// setTables puts tables, each whole lines, into a TOML file: at its end, or where tables of ours were. No tables takes them out. What it gives back for a text
// without tables of ours is, without them again, that text.
func setTables(text string, tables []string) (string, error) {
	rest, at, had, err := cutTables(text)
	if err != nil {
		return "", err
	}
	if slices.Equal(had, tables) {
		return text, nil
	}
	if len(had) == 0 {
		at = len(rest)
	}
	var ours strings.Builder
	for i, t := range tables {
		ended := ""
		if i == 0 && at > 0 && rest[at-1] != '\n' {
			ended = endedBy
		}
		_, _ = fmt.Fprintf(&ours, "\n%s%d lines, %s%s\n%s", markBegins, strings.Count(t, "\n"), hash(t), ended, t)
	}
	out := rest[:at] + ours.String() + rest[at:]
	if len(tables) == 0 {
		return out, nil
	}
	var v map[string]any
	if err := toml.Unmarshal([]byte(out), &v); err != nil {
		if err := toml.Unmarshal([]byte(text), &v); err != nil {
			return "", fmt.Errorf("it is no valid TOML already: %w", err)
		}
		return "", fmt.Errorf("our tables do not go together with those in it: %w", err)
	}
	return out, nil
}

// endedBy is in the mark of a table when the end of line before it is ours, since the text had none.
const endedBy = ", after an unended line"

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// cutTables gives the text without our tables, the place where the first one was, and our tables in their order.
func cutTables(text string) (rest string, at int, ours []string, err error) {
	at = -1
	for {
		i := strings.Index("\n"+text, "\n"+markBegins)
		if i < 0 {
			return rest + text, max(at, 0), ours, nil
		}
		mark, after, ok := strings.Cut(text[i+len(markBegins):], "\n")
		mark, ended := strings.CutSuffix(strings.TrimSpace(mark), endedBy)
		count, sum, _ := strings.Cut(mark, " lines, ")
		n, convErr := strconv.Atoi(count)
		if !ok || convErr != nil {
			return "", 0, nil, errEdited
		}
		end := 0
		for range n {
			j := strings.IndexByte(after[end:], '\n')
			if j < 0 {
				return "", 0, nil, errEdited
			}
			end += j + 1
		}
		if hash(after[:end]) != sum {
			return "", 0, nil, errEdited
		}
		// The empty line before the mark is ours; what ends a line of somebody else is not.
		before := text[:i]
		if rest += before; ended || before == "\n" || strings.HasSuffix(before, "\n\n") {
			rest = strings.TrimSuffix(rest, "\n")
		}
		if at < 0 {
			at = len(rest)
		}
		ours = append(ours, after[:end])
		text = after[end:]
	}
}

// tomlString is a basic string of TOML.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			_, _ = fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func tomlList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = tomlString(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
