package judgetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// reconnectDelays are the client library's, then 5 s for ever (desktop 3.1).
var reconnectDelays = [...]time.Duration{
	10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
}

// connect opens the socket and joins the user topic.
func (d *Desktop) connect(ctx context.Context) error {
	sock, err := dialSocket(ctx, d.g.base(), d.token, d.led,
		socketOptions{who: d.opt.Name, origin: d.opt.Origin, heartbeat: 30 * time.Second, answerIn: 10 * time.Second, browser: true}, d.event)
	if err != nil {
		return err
	}
	_, err = sock.join(ctx, "user:"+d.ID, map[string]any{"client": "desktop", "device_name": d.opt.Device})
	if err != nil {
		sock.kill()
		return err
	}
	d.change(func() { d.sock = sock; d.connects++ })
	return nil
}

// keepConnected reconnects for ever and resyncs after each later connect: open
// conversation, lists, unread counts, agents (desktop 3.9).
func (d *Desktop) keepConnected() {
	for {
		var sock *phxSocket
		d.read(func() { sock = d.sock })
		select {
		case <-sock.done:
		case <-d.run.Done():
			return
		}
		for try := 0; ; try++ {
			if wait(d.run, reconnectDelays[min(try, len(reconnectDelays)-1)]) != nil {
				return
			}
			ctx, stop := context.WithTimeout(d.run, 20*time.Second)
			err := d.resume(ctx)
			stop()
			if err == nil {
				break
			}
			if errors.Is(err, errLoggedOut) {
				return
			}
		}
	}
}

func (d *Desktop) resume(ctx context.Context) error {
	if err := d.connect(ctx); err != nil {
		return err
	}
	open := d.Open()
	if open != "" {
		if _, err := d.socket().join(ctx, "conversation:"+open, map[string]any{}); err != nil {
			return err
		}
	}
	if err := d.load(ctx); err != nil {
		return err
	}
	if open != "" {
		if err := d.latest(ctx, open); err != nil {
			return err
		}
	}
	d.change(func() { d.resyncs++ })
	return nil
}

func (d *Desktop) socket() *phxSocket {
	var s *phxSocket
	d.read(func() { s = d.sock })
	return s
}

// DropSocket cuts the TCP connection; the client reconnects by itself.
func (d *Desktop) DropSocket() { d.socket().kill() }

// WaitResynced blocks until the n-th reconnect has finished its resync.
func (d *Desktop) WaitResynced(ctx context.Context, n int) error {
	return d.until(ctx, fmt.Sprintf("resync %d", n), func() bool { return d.resyncs >= n })
}

// OpenConversation is step 5 of desktop 3.10; the one open before is left.
func (d *Desktop) OpenConversation(ctx context.Context, conv string) error {
	if before := d.Open(); before != "" && before != conv {
		if err := d.CloseConversation(ctx); err != nil {
			return err
		}
	}
	sock, topic := d.socket(), "conversation:"+conv
	recent := 0
	d.change(func() { d.open, recent = conv, d.recents[conv] })
	if _, err := sock.join(ctx, topic, map[string]any{}); err != nil {
		return fmt.Errorf("join the conversation: %w", err)
	}
	if _, err := sock.push(ctx, topic, "mark_conversation_read", map[string]any{}); err != nil {
		d.led.Break(d.opt.Name, "desktop 3.3", "mark_conversation_read: %v", err)
	}
	d.change(func() { d.clearUnread(conv) })
	if err := d.latest(ctx, conv); err != nil {
		return err
	}
	d.soft(ctx, "desktop 4.4", "GET", "/api/conversations?scope=agents&limit=200&sourceConversationId="+conv, nil, "ConversationList")
	d.soft(ctx, "desktop 4.7", "GET", "/api/artifacts?conversationId="+conv+"&limit=100", nil, "")
	d.soft(ctx, "desktop 4.4", "GET", "/api/conversations/"+conv+"/goals", nil, "")
	return d.until(ctx, "recent_messages after the join (desktop 9.2)", func() bool { return d.recents[conv] > recent })
}

func (d *Desktop) latest(ctx context.Context, conv string) error {
	a, err := d.must(ctx, "desktop 4.5", "GET", "/api/conversations/"+conv+"/messages?limit=30", nil, "MessagePage")
	if err != nil {
		return err
	}
	d.change(func() { d.merge(conv, listOf(a.JSON, "messages")) })
	return nil
}

// CloseConversation leaves the open conversation's topic.
func (d *Desktop) CloseConversation(ctx context.Context) error {
	conv := d.Open()
	if conv == "" {
		return nil
	}
	d.change(func() { d.open = "" })
	if err := d.socket().leave(ctx, "conversation:"+conv); err != nil {
		return fmt.Errorf("phx_leave needs an ok reply (desktop 3.1): %w", err)
	}
	return nil
}

// Send writes into the open conversation: a placeholder first, then the push.
// The nonce finds the echo. An error reply removes the placeholder.
func (d *Desktop) Send(ctx context.Context, conv, text string) (nonce string, err error) {
	nonce = uuid.NewString()
	d.change(func() {
		d.placeholders[nonce] = conv
		delete(d.unread, conv)
	})
	_, err = d.socket().push(ctx, "conversation:"+conv, "new_message", map[string]any{
		"content": text, "content_type": "text", "metadata": map[string]any{"client_nonce": nonce},
	})
	if err != nil {
		d.change(func() { delete(d.placeholders, nonce) })
		return nonce, err
	}
	return nonce, nil
}

// WaitEcho blocks until the own message came back with its nonce (desktop 9.1).
func (d *Desktop) WaitEcho(ctx context.Context, nonce string) (map[string]any, error) {
	var hit map[string]any
	err := d.until(ctx, "echo of the own message with client_nonce", func() bool {
		hit = d.byNonce[nonce]
		return hit != nil
	})
	return hit, err
}

// Say sends and waits for the echo; it returns the message's id.
func (d *Desktop) Say(ctx context.Context, conv, text string) (id string, err error) {
	nonce, err := d.Send(ctx, conv, text)
	if err != nil {
		return "", err
	}
	m, err := d.WaitEcho(ctx, nonce)
	return str(m, "id"), err
}

// WaitMessage blocks until the timeline of conv holds a message that matches.
func (d *Desktop) WaitMessage(ctx context.Context, conv, what string, match func(m map[string]any) bool) (map[string]any, error) {
	var hit map[string]any
	err := d.until(ctx, what, func() bool {
		for _, m := range d.timeline[conv] {
			if match(m) {
				hit = m
				return true
			}
		}
		return false
	})
	return hit, err
}

// WaitEvent blocks until an event ("a|b": one of them) after position from
// matches; it returns the payload. Mark gives positions.
func (d *Desktop) WaitEvent(ctx context.Context, from int, event string, match func(p map[string]any) bool) (map[string]any, error) {
	var hit map[string]any
	err := d.until(ctx, "event "+event, func() bool {
		for _, f := range d.log[min(from, len(d.log)):] {
			if among(event, f.Event) && (match == nil || match(f.object())) {
				hit = f.object()
				return true
			}
		}
		return false
	})
	return hit, err
}

// Mark is the current position in the event log.
func (d *Desktop) Mark() int {
	n := 0
	d.read(func() { n = len(d.log) })
	return n
}

// Count tells how many events since from match.
func (d *Desktop) Count(from int, event string, match func(p map[string]any) bool) int {
	n := 0
	d.read(func() {
		for _, f := range d.log[min(from, len(d.log)):] {
			if f.Event == event && (match == nil || match(f.object())) {
				n++
			}
		}
	})
	return n
}

// Delete removes a message; the row goes when the broadcast comes.
func (d *Desktop) Delete(ctx context.Context, conv, id string) error {
	_, err := d.socket().push(ctx, "conversation:"+conv, "delete_message", map[string]any{"message_id": id})
	return err
}

// Type pushes one typing event, which has no reply.
func (d *Desktop) Type(ctx context.Context, conv string) error {
	_, _, err := d.socket().write(ctx, "conversation:"+conv, "typing", map[string]any{}, false)
	return err
}

// markReadSoon is the 0.5 s debounce of desktop 3.8.
func (d *Desktop) markReadSoon(conv string) {
	if d.marking[conv] {
		return
	}
	d.marking[conv] = true
	go func() {
		ok := wait(d.run, 500*time.Millisecond) == nil
		d.change(func() { delete(d.marking, conv) })
		if !ok || d.Open() != conv {
			return
		}
		if s := d.socket(); s != nil && s.alive() {
			_, _ = s.push(d.run, "conversation:"+conv, "mark_conversation_read", map[string]any{})
		}
	}()
}
