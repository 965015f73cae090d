package backend

import "strings"

// LastInput is the final user message: what is to be answered, then the
// per-turn context. It is the only part of a prompt that changes its bytes.
func (t Turn) LastInput() string {
	var b strings.Builder
	for i, m := range t.Input {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(m.Render())
	}
	if v := strings.TrimSpace(t.Volatile); v != "" {
		b.WriteString("\n\n<context>\n")
		b.WriteString(v)
		b.WriteString("\n</context>")
	}
	return b.String()
}

// Since are the history messages after the one with the given id. known is
// false when that message is not in the history, so that the caller has to
// start from the whole of it.
func (t Turn) Since(id string) (rest []Message, known bool) {
	for i := len(t.History) - 1; i >= 0; i-- {
		if t.History[i].ID == id {
			return t.History[i+1:], true
		}
	}
	return nil, false
}

// Transcript renders messages as paragraphs, for backends that take one text.
func Transcript(ms []Message, self string) string {
	var b strings.Builder
	for _, m := range ms {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if m.Assistant {
			b.WriteString("[You, " + self + "] ")
		}
		b.WriteString(m.Render())
	}
	return b.String()
}

// Label is a short readable description of a tool call.
func Label(tool string) string {
	name := tool
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	switch name {
	case "Bash", "shell", "command_execution":
		return "Running a command"
	case "Read", "Glob", "Grep", "LS":
		return "Reading files"
	case "Edit", "Write", "MultiEdit", "file_change", "NotebookEdit":
		return "Editing files"
	case "WebFetch", "WebSearch", "web_search", "web_fetch":
		return "Searching the web"
	case "send_message":
		return "Sending a message"
	case "get_messages":
		return "Reading the conversation"
	case "get_profile":
		return "Reading its profile"
	case "end_turn":
		return "Finishing"
	}
	return "Using " + strings.ReplaceAll(strings.ReplaceAll(name, "_", " "), "-", " ")
}
