package memory

import (
	"slices"
	"strings"
	"unicode"
)

// mostTerms bounds how many patterns a search compares.
const mostTerms = 16

// Terms are the patterns of a search, for LIKE in any case. A run of Chinese, Japanese
// or Korean writing has no spaces between its words: it becomes its pairs of
// characters.
func Terms(text string) []string {
	out := []string{}
	add := func(s string) {
		if s = strings.ToLower(s); s == "" || len(out) == mostTerms {
			return
		}
		if p := "%" + likeEscape.Replace(s) + "%"; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	var word []rune
	wide := false
	flush := func() {
		if !wide || len(word) < 3 {
			add(string(word))
		} else {
			for n := range len(word) - 1 {
				add(string(word[n : n+2]))
			}
		}
		word = word[:0]
	}
	for _, r := range text {
		w := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
		switch {
		case !w && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '_' && r != '-':
			flush()
		case w != wide:
			flush()
			wide, word = w, append(word, r)
		default:
			word = append(word, r)
		}
	}
	flush()
	return out
}

// Word is what a pattern of Terms looks for.
func Word(pattern string) string {
	return likeUnescape.Replace(strings.TrimSuffix(strings.TrimPrefix(pattern, "%"), "%"))
}

var likeUnescape = strings.NewReplacer(`\\`, `\`, `\%`, `%`, `\_`, `_`)

var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
