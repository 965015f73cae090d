package directive

import (
	"regexp"
	"strings"
)

const fenceTag = "untrusted_text"

// Fence marks text that neither the platform nor the people of the room wrote:
// pages, files, answers of outside services. Rules (stable part) tell the model
// what the fence means. Text cannot close it: its own fence words are taken out.
func Fence(source, text string) string {
	clean := strings.NewReplacer("\n", " ", `"`, "'", "<", "(", ">", ")").Replace(source)
	return "<" + fenceTag + ` source="` + clean + "\">\n" + unfence(text) + "\n</" + fenceTag + ">"
}

var fenceWord = regexp.MustCompile(`(?i)untrusted_text`)

// unfence breaks every word of the fence in text, in any case.
func unfence(text string) string { return fenceWord.ReplaceAllString(text, "untrusted-text") }
