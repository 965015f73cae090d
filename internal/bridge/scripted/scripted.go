// Package scripted is the demo agent: a backend without a model. It says
// openly that it is a script, and shows what an answer can look like. It
// proves nothing about real models and is never stored as an agent's backend.
package scripted

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Backend answers from a fixed script at a readable pace.
type Backend struct {
	// Pace is the pause between two words; 0 answers at once.
	Pace time.Duration
}

// New returns a script that writes as fast as a good model does.
func New() *Backend { return &Backend{Pace: 25 * time.Millisecond} }

// Name is backend.Scripted.
func (*Backend) Name() string { return backend.Scripted }

// Check always succeeds: a script needs nothing.
func (*Backend) Check(context.Context) error { return nil }

// Close has nothing to end.
func (*Backend) Close() error { return nil }

// Run plays the scene that the last question asks for.
func (b *Backend) Run(ctx context.Context, t backend.Turn, emit func(backend.Event)) (backend.Result, error) {
	last := t.Input[len(t.Input)-1]
	question := strings.TrimSpace(last.Text)
	zh := chinese(question)
	s := choose(question, zh, len(t.History) == 0)
	who := speaker(last.Speaker)

	emit(backend.Event{Kind: backend.Thinking, Detail: pick(zh, "正在翻剧本", "Looking into the script")})
	if !b.pause(ctx, s.think) {
		return backend.Result{}, context.Cause(ctx)
	}
	var tools []string
	for _, tool := range s.tools {
		emit(backend.Event{Kind: backend.ToolCall, Tool: tool.name, Detail: tool.label})
		tools = append(tools, tool.name)
		if !b.pause(ctx, 40) {
			return backend.Result{}, context.Cause(ctx)
		}
	}
	if s.err != nil {
		return backend.Result{Model: "script"}, s.err
	}
	text := strings.ReplaceAll(s.text, "{name}", who)
	text = strings.ReplaceAll(text, "{question}", quote(question))
	if n := len(t.Input) - 1; n > 0 {
		text = pick(zh, "（这条回复同时回答了你刚才连发的几条消息。）\n\n", "(This one answer covers the messages you sent in a row.)\n\n") + text
	}
	slow := max(s.slow, 1)
	for _, piece := range pieces(text) {
		emit(backend.Event{Kind: backend.Text, Text: piece})
		if !b.pause(ctx, slow) {
			return backend.Result{}, context.Cause(ctx)
		}
	}
	words := int64(len(strings.Fields(text)))
	return backend.Result{
		Text: text, Model: "script", ToolUses: tools, Iterations: 1,
		Usage: backend.Usage{Input: int64(len(strings.Fields(question))), Output: words},
	}, nil
}

// pause waits n paces; false when the turn was cancelled.
func (b *Backend) pause(ctx context.Context, n int) bool {
	if b.Pace <= 0 || n <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(time.Duration(n) * b.Pace)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// pieces splits a text as a model would send it: words with the space after
// them, and Chinese two characters at a time.
func pieces(text string) []string {
	var out []string
	start, run := 0, 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if unicode.Is(unicode.Han, r) {
			if run++; run == 2 {
				out = append(out, text[start:end])
				start, run = end, 0
			}
			continue
		}
		if unicode.IsSpace(r) {
			out = append(out, text[start:end])
			start, run = end, 0
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

func chinese(s string) bool {
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			return true
		}
	}
	return false
}

// speaker takes the name out of a label such as "[Human: Ann]".
func speaker(label string) string {
	s := strings.Trim(label, "[]")
	if _, name, ok := strings.Cut(s, ": "); ok {
		s = name
	}
	if s == "" {
		return "you"
	}
	return s
}

func quote(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return string(r)
}

func pick(zh bool, chinese, english string) string {
	if zh {
		return chinese
	}
	return english
}
