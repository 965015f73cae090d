package directive

import (
	"regexp"
	"strings"
	"unicode"
)

const fenceTag = "untrusted_text"

// Fence marks text that neither the platform nor the people of the room wrote:
// pages, files, answers of outside services. Rules (stable part) tell the model
// what the fence means. Text cannot close it: its own fence words are taken out, and
// what people do not see, so that they read what the model reads.
func Fence(source, text string) string {
	clean := strings.NewReplacer("\n", " ", `"`, "'", "<", "(", ">", ")").Replace(source)
	return "<" + fenceTag + ` source="` + clean + "\">\n" + unfence(text) + "\n</" + fenceTag + ">"
}

var fenceWord = regexp.MustCompile(`(?i)untrusted_text`)

// unfence breaks every word of the fence in text, in any case.
func unfence(text string) string {
	return fenceWord.ReplaceAllString(visible(text), "untrusted-text")
}

// visible drops characters that show nothing: controls, direction marks, tags and
// selectors that can carry a hidden text. Joiners stay behind letters that they join.
func visible(text string) string {
	last := rune(0)
	return strings.Map(func(r rune) rune {
		joins := (r == '\u200c' || r == '\u200d') && last > unicode.MaxASCII
		last = r
		switch {
		case r == '\n' || r == '\t' || joins:
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r >= 0xE0100 && r <= 0xE01EF, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
			return -1
		}
		return r
	}, text)
}
