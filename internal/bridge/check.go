package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

// Errors that tell a caller which part is broken; both carry a text for people.
var (
	ErrServer  = errors.New("the server cannot be reached")
	ErrBackend = errors.New("the model does not work")
)

// ErrChecked is wrapped by what Check returns for a step that failed: its line
// has said why.
var ErrChecked = errors.New("not everything works")

// Check goes through everything an agent needs, in order, and prints one line
// per step: server, key, model program, and a one-word answer of the model. It
// stops at the first step that fails for an agent. Nothing is registered, so
// it may run beside a live bridge.
func Check(ctx context.Context, c Config, out io.Writer) error {
	if len(c.Agents) == 0 {
		return ErrNoAgents
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Timing == (session.Timing{}) {
		c.Timing = session.DefaultTiming()
	}
	var errs []error
	for _, a := range c.Agents {
		if err := c.checkOne(ctx, a, out); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrChecked, errors.Join(errs...))
	}
	return nil
}

func (c Config) checkOne(ctx context.Context, a Agent, out io.Writer) error {
	say := func(state, step, detail string) {
		_, _ = fmt.Fprintf(out, "%-5s %-7s %s\n", state, step, detail)
	}
	need, err := session.Probe(ctx, c.options(a))
	if err != nil {
		err = explain(a.URL, err)
		step := "server"
		if errors.Is(err, session.ErrKeyRefused) {
			say("ok", "server", a.URL)
			step = "key"
		}
		say("FAIL", step, err.Error())
		return err
	}
	say("ok", "server", a.URL)
	say("ok", "key", fmt.Sprintf("agent %s (%s)", need.Profile.DisplayName, a.ID))
	b, err := c.Machine.backend(ctx, a, need, c.Log)
	if err == nil {
		defer func() { _ = b.Close() }()
		err = b.Check(ctx)
	}
	if err != nil {
		say("FAIL", "model", backend.AsError(err).Message)
		return fmt.Errorf("%w: %w", ErrBackend, err)
	}
	say("ok", "model", "backend "+b.Name()+" is installed")
	if a.Letters.On {
		text, err := c.keeper(a).check(ctx)
		if err != nil {
			say("FAIL", "letters", err.Error())
			return fmt.Errorf("letters: %w", err)
		}
		say("ok", "letters", text)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	began := time.Now()
	model := a.Model
	if model == "" {
		model = need.Profile.ModelConfig.ModelID()
	}
	res, err := b.Run(ctx, backend.Turn{
		ID: "check", ConversationID: "check", System: "You are being tested.", Model: model,
		Input: []backend.Message{{Text: "Answer with the single word OK."}},
	}, func(backend.Event) {})
	if err == nil && strings.TrimSpace(res.Text) == "" {
		err = backend.Errorf(backend.CodeEmpty, "The model returned no answer.")
	}
	if err != nil {
		say("FAIL", "answer", backend.AsError(err).Message)
		return fmt.Errorf("%w: %w", ErrBackend, err)
	}
	say("ok", "answer", fmt.Sprintf("from %s in %s", res.Model, time.Since(began).Round(100*time.Millisecond)))
	return nil
}

// explain turns a failed first contact into a sentence that says what to do.
func explain(base string, err error) error {
	if errors.Is(err, session.ErrKeyRefused) {
		return fmt.Errorf("%w; copy both again, or make a new key on the agent's page", session.ErrKeyRefused)
	}
	if e, ok := errors.AsType[*session.StatusError](err); ok {
		return fmt.Errorf("%w: %s answers with HTTP %d; is this the address of an agntchat server?", ErrServer, base, e.Status)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%w: %s (%w)", ErrServer, base, e.Err)
	}
	return fmt.Errorf("%w: %s (%w)", ErrServer, base, err)
}
