package post

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/wire/letter"
)

// read takes letters, of one sender or of all when peer is empty. keep is given each as it comes. With a relay of ours they
// stay there until keep had all of them; others delete them with the answer. What a relay gives of senders that nobody asked for
// is passed over: it would lie in the store for ever.
func (r *relay) read(ctx context.Context, peer string, take func(letter.Message) error) error {
	args, keep := map[string]any{}, take
	if peer != "" {
		args["peer"] = peer
		keep = func(m letter.Message) error {
			if m.From != peer {
				return nil
			}
			return take(m)
		}
	}
	tools := r.about(ctx).Tools
	if !slices.Contains(tools, letter.ToolLease) || !slices.Contains(tools, letter.ToolConfirm) {
		_, err := r.letters(ctx, letter.ToolReadMessages, args, keep)
		return err
	}
	for {
		n, size := 0, 0
		lease, err := r.letters(ctx, letter.ToolLease, args, func(m letter.Message) error {
			n, size = n+1, size+len(m.Body)
			return keep(m)
		})
		if err != nil || lease == "" {
			return err
		}
		var done letter.Confirmed
		if err := r.call(ctx, letter.ToolConfirm, map[string]any{"lease": lease}, &done); err != nil {
			return err
		}
		// A short list was all there is: asking again would only use up calls. And a relay that gives the same for ever must not
		// hold us.
		if n < shortList && size < shortSize || done.Deleted == 0 {
			return nil
		}
	}
}

// peek looks at what waits from everyone and leaves it there.
func (r *relay) peek(ctx context.Context, see func(letter.Message) error) error {
	_, err := r.letters(ctx, letter.ToolReadMessages, map[string]any{"peek": true}, see)
	return err
}

// letters reads a list of letters as it comes: an array, or an object of ours with the array as its member messages.
func (r *relay) letters(ctx context.Context, tool string, args map[string]any, see func(letter.Message) error) (lease string, err error) {
	// The deadline is for the relay to begin; while letters come, each of them has as long.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.AfterFunc(callTimeout, func() { cancel(context.DeadlineExceeded) })
	defer slow.Stop()
	body, err := r.post(ctx, r.address, tool, args)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	in := &bounded{r: io.LimitReader(body, maxLetters), left: maxLetter}
	l := &letterReader{dec: json.NewDecoder(in), in: in, see: func(m letter.Message) error {
		slow.Reset(callTimeout)
		return see(m)
	}}
	err = l.read()
	if l.stopped != nil {
		return "", l.stopped
	}
	if err != nil {
		return "", unreachable(ctx, fmt.Errorf("a list of letters that breaks off: %w", err))
	}
	return l.lease, nil
}

// bounded ends a stream when more than a letter's worth came since the last letter was whole: the decoder keeps one in memory.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a letter of more than %d bytes", maxLetter)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

type letterReader struct {
	dec     *json.Decoder
	in      *bounded
	see     func(letter.Message) error
	lease   string
	stopped error // what see said
}

func (l *letterReader) read() error {
	t, err := l.dec.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('['):
		return l.list()
	case json.Delim('{'):
	default:
		return errors.New("not a list")
	}
	for l.dec.More() {
		name, err := l.dec.Token()
		if err != nil {
			return err
		}
		if name != "messages" {
			var v json.RawMessage
			if err := l.dec.Decode(&v); err != nil {
				return err
			}
			if name == "lease" && json.Unmarshal(v, &l.lease) != nil {
				return errors.New("a lease that is none")
			}
			continue
		}
		if t, err := l.dec.Token(); err != nil || t != json.Delim('[') {
			return errors.Join(errors.New("not a list"), err)
		}
		if err := l.list(); err != nil {
			return err
		}
	}
	_, err = l.dec.Token()
	return err
}

func (l *letterReader) list() error {
	for l.dec.More() {
		var raw json.RawMessage
		if err := l.dec.Decode(&raw); err != nil {
			return err
		}
		l.in.left = maxLetter
		var m letter.Message
		// What is not even a letter's shape came from the relay, not from a peer: there is nobody to answer.
		if json.Unmarshal(raw, &m) != nil || !letter.IsAddress(m.From) || len(m.Body) > maxBody {
			continue
		}
		if l.stopped = l.see(m); l.stopped != nil {
			return l.stopped
		}
	}
	_, err := l.dec.Token()
	return err
}

// hintSilence is how long a stream may say nothing; a relay says something every 25 s.
const hintSilence = 90 * time.Second

// Hints opens the relay's push stream and gives a token whenever letters may wait; one comes at the start. The channel is
// closed when the stream ends, for which there are many harmless reasons: open it again, later each time. ctx ends it too.
// Errors: [ErrNoPush] when the relay has none and polling is the way, those of a call.
func (b *Box) Hints(ctx context.Context) (<-chan struct{}, error) {
	info, err := b.relay.ask(ctx)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(info.Events, "/") {
		return nil, ErrNoPush
	}
	ctx, cancel := context.WithCancel(ctx)
	body, err := b.relay.post(ctx, b.relay.below(info.Events), letter.ToolEvents, map[string]any{})
	if err != nil {
		cancel()
		return nil, err
	}
	hints := make(chan struct{}, 1) // two hints unread are one
	go func() {
		defer close(hints)
		defer cancel()
		defer func() { _ = body.Close() }()
		// A line that went dead, as on a laptop that slept, would keep us waiting for ever.
		dead := time.AfterFunc(hintSilence, cancel)
		defer dead.Stop()
		for lines := bufio.NewScanner(body); lines.Scan(); {
			dead.Reset(hintSilence)
			if name, ok := strings.CutPrefix(lines.Text(), "event:"); ok && strings.TrimSpace(name) == letter.EventName {
				select {
				case hints <- struct{}{}:
				default:
				}
			}
		}
	}()
	return hints, nil
}
