package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// emitter writes server-sent events.
type emitter struct {
	w      http.ResponseWriter
	ctx    context.Context
	server *Server
	answer int // the number of this answer: ids of two answers differ, as with every provider
}

// id names a part of this answer.
func (e *emitter) id(kind string, part ...int) string {
	out := fmt.Sprintf("%s_fake%d", kind, e.answer)
	for _, n := range part {
		out += fmt.Sprintf("_%d", n)
	}
	return out
}

func (e *emitter) send(event string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if event != "" {
		_, _ = fmt.Fprintf(e.w, "event: %s\n", event)
	}
	_, _ = fmt.Fprintf(e.w, "data: %s\n\n", raw)
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// words streams a step's text word by word; false when the stream ends here,
// because it was cut or the client has gone.
func (e *emitter) words(st Step, each func(word string)) bool {
	parts := strings.SplitAfter(st.Text, " ")
	for i, p := range parts {
		if p != "" {
			each(p)
		}
		if i == 0 && st.Gate != nil {
			select {
			case <-st.Gate:
			case <-e.ctx.Done():
				e.server.gone <- struct{}{}
				return false
			}
		}
		if st.Cut && i >= len(parts)/2 {
			panic(http.ErrAbortHandler)
		}
	}
	return true
}

type m = map[string]any

// contentText joins the text blocks of a content value, which may be a string.
func contentText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		b, _ := x.(map[string]any)
		if t, ok := b["text"].(string); ok {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n")
}

// lastUser is the text of the last message of the user that has text.
func lastUser(list []any) string {
	for i := len(list) - 1; i >= 0; i-- {
		msg, _ := list[i].(map[string]any)
		if msg["role"] != "user" {
			continue
		}
		if t := strings.TrimSpace(contentText(msg["content"])); t != "" {
			return t
		}
	}
	return ""
}

func anthropicText(b map[string]any) string { l, _ := b["messages"].([]any); return lastUser(l) }
func chatText(b map[string]any) string      { l, _ := b["messages"].([]any); return lastUser(l) }

func responsesText(b map[string]any) string {
	if s, ok := b["input"].(string); ok {
		return s
	}
	l, _ := b["input"].([]any)
	return lastUser(l)
}

var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
	429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

func writeError(w http.ResponseWriter, status int, anthropicForm bool) {
	kind := errorTypes[status]
	body := m{"error": m{"type": kind, "code": kind, "message": "fake " + kind}}
	if anthropicForm {
		body["type"] = "error"
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
