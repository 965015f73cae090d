// Package bridgetest proves backends: one suite for all that talk to a model
// API, run against a fake provider on loopback.
package bridgetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/toolbox"
)

// Turn is a plain turn with one question.
func Turn(question string) backend.Turn {
	return backend.Turn{
		ID: "t1", ConversationID: "c1", System: "You are Nova.", Volatile: "It is late.",
		History: []backend.Message{
			{ID: "h1", Speaker: "[Human: Ann]", Text: "earlier question"},
			{ID: "h2", Assistant: true, Text: "earlier answer"},
		},
		Input: []backend.Message{{ID: "m1", Speaker: "[Human: Ann]", Text: question}},
	}
}

// Record collects events.
type Record struct{ Events []backend.Event }

// Emit appends.
func (r *Record) Emit(e backend.Event) { r.Events = append(r.Events, e) }

// Text is the visible text after the last reset.
func (r *Record) Text() string {
	var b strings.Builder
	for _, e := range r.Events {
		switch e.Kind {
		case backend.Text:
			b.WriteString(e.Text)
		case backend.Reset:
			b.Reset()
		}
	}
	return b.String()
}

// Has says whether an event of the kind occurred.
func (r *Record) Has(k backend.Kind) bool {
	for _, e := range r.Events {
		if e.Kind == k {
			return true
		}
	}
	return false
}

// Code is the code of an error, or "".
func Code(err error) string {
	if e, ok := errors.AsType[*backend.Error](err); ok {
		return e.Code
	}
	return ""
}

// API runs the whole suite on a backend for a model API. path is the path of
// its requests.
func API(t *testing.T, path string, open func(url string) backend.Backend) {
	run := func(t *testing.T, question string, steps ...fakemodel.Step) (*fakemodel.Server, backend.Result, *Record, error) {
		t.Helper()
		m := fakemodel.New(t)
		if len(steps) > 0 {
			m.On(question, steps...)
		}
		b := open(m.URL)
		t.Cleanup(func() { _ = b.Close() })
		rec := &Record{}
		res, err := b.Run(t.Context(), Turn(question), rec.Emit)
		return m, res, rec, err
	}
	t.Run("B2_answer", func(t *testing.T) {
		t.Parallel()
		m, res, rec, err := run(t, "what now", fakemodel.Step{Text: "This is the answer."})
		if err != nil || res.Text != "This is the answer." || rec.Text() != res.Text {
			t.Fatalf("result %+v, streamed %q, error %v", res, rec.Text(), err)
		}
		if res.Usage.Output != 9 || res.Usage.CacheRead != 5 || res.Iterations != 1 {
			t.Fatalf("usage %+v", res)
		}
		raw := m.Requests(path)[0].Raw
		for _, part := range []string{"You are Nova.", "earlier question", "earlier answer", "[Human: Ann] what now", "It is late."} {
			if !strings.Contains(raw, part) {
				t.Fatalf("the request lacks %q: %s", part, raw)
			}
		}
	})
	t.Run("B2_tools", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New(t)
		m.On("use it", fakemodel.Step{Text: "Let me look.", Tools: []fakemodel.Tool{{Name: "look", Args: `{"at":"stars"}`}}}, fakemodel.Step{Text: "I saw it."})
		b, box, rec := open(m.URL), &toolbox.Box{}, &Record{}
		turn := Turn("use it")
		turn.Toolbox = box
		res, err := b.Run(t.Context(), turn, rec.Emit)
		if err != nil || res.Text != "I saw it." || rec.Text() != "I saw it." || !rec.Has(backend.ToolCall) {
			t.Fatalf("result %+v error %v", res, err)
		}
		if got := box.Calls(); len(got) != 1 || got[0] != `look {"at":"stars"}` {
			t.Fatalf("calls %v", got)
		}
		if r := m.Requests(path); len(r) != 2 || !strings.Contains(r[1].Raw, "seen") {
			t.Fatalf("%d requests", len(r))
		}
	})
	t.Run("B2_end_turn_saves_a_call", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New(t)
		m.On("be quiet", fakemodel.Step{Tools: []fakemodel.Tool{{Name: "end_turn", Args: `{"reason":"no_action_needed"}`}}})
		turn := Turn("be quiet")
		turn.Toolbox = &toolbox.Box{}
		res, err := open(m.URL).Run(t.Context(), turn, func(backend.Event) {})
		if err != nil || res.Text != "" || len(m.Requests(path)) != 1 {
			t.Fatalf("result %+v error %v", res, err)
		}
	})
	t.Run("B2_endless_tools_end", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New(t)
		look := fakemodel.Tool{Name: "look", Args: `{"at":"x"}`}
		m.On("again", fakemodel.Step{Text: "Still looking.", Tools: []fakemodel.Tool{look, look, look}})
		box := &toolbox.Box{}
		turn := Turn("again")
		turn.Toolbox = box
		res, err := open(m.URL).Run(t.Context(), turn, func(backend.Event) {})
		if err != nil || res.Iterations != backend.MaxIterations || len(box.Calls()) > backend.MaxToolCalls {
			t.Fatalf("iterations %d calls %d error %v", res.Iterations, len(box.Calls()), err)
		}
	})
	t.Run("T3_hears_what_is_said_meanwhile", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New(t)
		look := []fakemodel.Tool{{Name: "look", Args: `{"at":"stars"}`}}
		m.On("count to three", fakemodel.Step{Text: "Let me look.", Tools: look})
		m.On("make it four", fakemodel.Step{Text: "One, two, four."}, fakemodel.Step{Text: "never"})
		m.On("and in French", fakemodel.Step{Text: "And again.", Tools: look}, fakemodel.Step{Text: "Un, deux, quatre."})
		b := open(m.URL)
		l, ok := b.(backend.Listener)
		if !ok {
			t.Fatal("it does not listen")
		}
		heard := make(chan bool, 2)
		tell := func(text string) {
			w := waiting{t.Context(), make(chan struct{}), &sync.Once{}}
			go func() { heard <- l.Tell(w, "c1", text) }()
			<-w.begun
		}
		if l.Tell(t.Context(), "c1", "too early") {
			t.Error("heard before it runs")
		}
		rec, turn := &Record{}, Turn("count to three")
		turn.Toolbox = &toolbox.Box{}
		res, err := b.Run(t.Context(), turn, func(e backend.Event) {
			switch rec.Emit(e); {
			case e.Kind == backend.ToolCall && len(m.Requests(path)) == 1: // between two calls
				tell("make it four")
			case e.Kind == backend.Text && e.Text == "two, ": // while it answers
				tell("and in French")
			}
		})
		want := "One, two, four.\n\nUn, deux, quatre."
		if err != nil || res.Text != want || rec.Text() != want || res.Iterations != 4 {
			t.Fatalf("result %+v, streamed %q, error %v", res, rec.Text(), err)
		}
		for range 2 {
			if !<-heard {
				t.Error("what was read counts as not heard")
			}
		}
		last := m.Requests(path)[3].Raw
		for _, text := range []string{"make it four", "and in French", "One, two, four."} {
			if n := strings.Count(last, text); n != 1 {
				t.Errorf("the model read %q %d times", text, n)
			}
		}
		if l.Tell(t.Context(), "c1", "too late") {
			t.Error("heard after its end")
		}
	})
	t.Run("T3_what_comes_too_late_is_not_heard", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New(t)
		m.On("be quiet", fakemodel.Step{Tools: []fakemodel.Tool{{Name: "end_turn", Args: `{}`}}})
		b := open(m.URL)
		turn := Turn("be quiet")
		turn.Toolbox = &toolbox.Box{}
		heard := make(chan bool, 1)
		_, err := b.Run(t.Context(), turn, func(e backend.Event) {
			if e.Kind == backend.ToolCall {
				w := waiting{t.Context(), make(chan struct{}), &sync.Once{}}
				go func() { heard <- b.(backend.Listener).Tell(w, "c1", "wait") }()
				<-w.begun
			}
		})
		if err != nil || <-heard || len(m.Requests(path)) != 1 {
			t.Errorf("heard, or %v", err)
		}
	})
	faults := map[string]struct {
		step fakemodel.Step
		code string
	}{
		"401":      {fakemodel.Step{Status: 401}, backend.CodeAuth},
		"429":      {fakemodel.Step{Status: 429, After: time.Second}, backend.CodeRate},
		"529":      {fakemodel.Step{Status: 529, After: time.Second}, backend.CodeRate},
		"500":      {fakemodel.Step{Status: 500}, backend.CodeModel},
		"cut":      {fakemodel.Step{Text: "half of an answer that", Cut: true}, backend.CodeModel},
		"bad_body": {fakemodel.Step{Status: 400}, backend.CodeModel},
	}
	for name, f := range faults {
		t.Run("B2_"+name, func(t *testing.T) {
			t.Parallel()
			_, _, _, err := run(t, "fault", f.step)
			if Code(err) != f.code {
				t.Fatalf("error %v, want %s", err, f.code)
			}
			if e, _ := errors.AsType[*backend.Error](err); f.code == backend.CodeRate && e.ResetAt.IsZero() {
				t.Fatal("no reset time")
			}
		})
	}
	t.Run("B2_cut_once_is_retried", func(t *testing.T) {
		t.Parallel()
		_, res, rec, err := run(t, "fault", fakemodel.Step{Text: "half of an", Cut: true}, fakemodel.Step{Text: "The whole."})
		if err != nil || res.Text != "The whole." || rec.Text() != "The whole." {
			t.Fatalf("result %+v streamed %q error %v", res, rec.Text(), err)
		}
	})
	t.Run("B2_empty", func(t *testing.T) {
		t.Parallel()
		_, res, _, err := run(t, "nothing", fakemodel.Step{Empty: true})
		if err != nil || res.Text != "" {
			t.Fatalf("result %+v error %v", res, err)
		}
	})
	t.Run("B2_cancel", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New(t)
		m.On("slow", fakemodel.Step{Text: "one two three", Gate: make(chan struct{})})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := open(m.URL).Run(ctx, Turn("slow"), func(e backend.Event) {
			if e.Kind == backend.Text {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		m.WaitGone()
	})
}

// waiting is a context that tells when somebody begins to wait for its end.
type waiting struct {
	context.Context
	begun chan struct{}
	once  *sync.Once
}

func (w waiting) Done() <-chan struct{} {
	w.once.Do(func() { close(w.begun) })
	return w.Context.Done()
}
