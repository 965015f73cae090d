package directive

import "strings"

const fenceTag = "untrusted_text"

// Fence marks text that neither the platform nor the people of the room wrote:
// pages, files, answers of outside services. Rules (stable part) tell the model
// what the fence means. Text cannot close it: its own fence words are taken out.
func Fence(source, text string) string {
	clean := strings.NewReplacer("\n", " ", `"`, "'", "<", "(", ">", ")").Replace(source)
	return "<" + fenceTag + ` source="` + clean + "\">\n" + unfence(text) + "\n</" + fenceTag + ">"
}

// unfence breaks every word of the fence in text, in any case.
func unfence(text string) string {
	low := strings.ToLower(text)
	if len(low) != len(text) { // a letter whose lower form has another length: compare as it is
		low = text
	}
	var b strings.Builder
	for {
		at := strings.Index(low, fenceTag)
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at] + "untrusted-text")
		text, low = text[at+len(fenceTag):], low[at+len(fenceTag):]
	}
}
