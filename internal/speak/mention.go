package speak

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/agntchat/agntchat/internal/id"
)

// Bounds of one message: what is beyond stays plain text.
const (
	maxMentions = 50
	maxAts      = 1000
)

// Candidate is somebody who can be mentioned. Of two with the same name the one
// with a hint wins, then a member, then the earlier one.
type Candidate struct {
	ID     id.Participant
	Name   string
	Member bool
	Hint   bool // the writer's client named this id for this name
}

// Mentions finds whom a text mentions: the longest match of @[Name] or @Name,
// case-folded, at Unicode word boundaries, never inside code (decision 10). They
// come in order of first appearance, each once, at most 50.
func Mentions(text string, among []Candidate) []Candidate {
	if !strings.ContainsAny(text, "@＠") || len(among) == 0 {
		return nil
	}
	names, lengths := index(among)
	t := canonical(withoutCode(text))
	var out []Candidate
	seen := make(map[id.Participant]bool)
	ats := 0
	for i := 0; i < len(t); {
		r, size := utf8.DecodeRuneInString(t[i:])
		if r != '@' || !opensMention(t[:i]) {
			i += size
			continue
		}
		if ats++; ats > maxAts || len(out) == maxMentions {
			break
		}
		i += size
		c, n := match(t[i:], names, lengths)
		if n > 0 && !seen[c.ID] {
			seen[c.ID] = true
			out = append(out, c)
		}
		i += n
	}
	return out
}

// Mentionable reports whether a text could mention anybody at all.
func Mentionable(text string) bool {
	return strings.ContainsAny(text, "@＠") && strings.ContainsAny(withoutCode(text), "@＠")
}

// index maps folded names to the best candidate, with their lengths, longest first.
func index(among []Candidate) (map[string]Candidate, []int) {
	names := make(map[string]Candidate, len(among))
	var lengths []int
	for _, c := range among {
		key := strings.TrimSpace(canonical(c.Name))
		if key == "" {
			continue
		}
		old, taken := names[key]
		if !taken {
			lengths = append(lengths, len(key))
		}
		if !taken || rank(c) > rank(old) {
			names[key] = c
		}
	}
	slices.SortFunc(lengths, func(a, b int) int { return b - a })
	return names, slices.Compact(lengths)
}

func rank(c Candidate) int {
	n := 0
	if c.Hint {
		n += 2
	}
	if c.Member {
		n++
	}
	return n
}

// match finds the longest name at the start of t (behind the @) and how many
// bytes it takes.
func match(t string, names map[string]Candidate, lengths []int) (Candidate, int) {
	if rest, bracket := strings.CutPrefix(t, "["); bracket {
		for _, n := range lengths {
			if len(rest) > n && rest[n] == ']' {
				if c, ok := names[rest[:n]]; ok {
					return c, n + 2
				}
			}
		}
		return Candidate{}, 0
	}
	for _, n := range lengths {
		if len(t) < n {
			continue
		}
		if c, ok := names[t[:n]]; ok && boundary(t[:n], t[n:]) {
			return c, n
		}
	}
	return Candidate{}, 0
}

// opensMention: an @ inside a word (mail addresses), in a path or behind a
// backslash is not the start of a mention.
func opensMention(before string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	if size == 0 {
		return true
	}
	return r != '/' && r != '\\' && (!wordy(r) || breaksWords(r))
}

// boundary reports a word boundary between a name and what follows it. Scripts
// that are written without spaces break between any two characters (UAX 29).
func boundary(name, after string) bool {
	next, size := utf8.DecodeRuneInString(after)
	if size == 0 {
		return true
	}
	if unicode.Is(unicode.M, next) || next == '\u200d' {
		return false // belongs to the character before it
	}
	last, _ := utf8.DecodeLastRuneInString(name)
	if !wordy(next) || !wordy(last) {
		return true
	}
	if unicode.Is(unicode.Katakana, last) != unicode.Is(unicode.Katakana, next) {
		return true
	}
	return breaksWords(last) || breaksWords(next)
}

func wordy(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r)
}

func breaksWords(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// canonical makes texts comparable: composed, case-folded, one kind of space,
// one kind of @.
func canonical(s string) string {
	s = cases.Fold().String(norm.NFC.String(s))
	s = norm.NFC.String(s)
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		isSpace := r == '\t' || unicode.Is(unicode.Zs, r)
		switch {
		case isSpace && space:
		case isSpace:
			b.WriteByte(' ')
		case r == '＠':
			b.WriteByte('@')
		default:
			b.WriteRune(r)
		}
		space = isSpace
	}
	return b.String()
}
