package judgetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// dedupWindow is how long a messageId is remembered (bridge 2.6).
const dedupWindow = 1900 * time.Second

// socketLoop connects, joins, catches up and waits for the drop, for ever
// (bridge 2.13). It never registers again.
func (b *Bridge) socketLoop() {
	defer close(b.loops)
	if wait(b.run, b.opt.SocketDelay) != nil {
		return
	}
	failures := 0
	for b.run.Err() == nil {
		sock, err := b.connect()
		if err != nil {
			failures++
			if errors.As(err, new(errReply)) {
				b.led.Break("bridge", "bridge 2.4", "join of user:… refused: %v", err)
			}
			pause := min(b.opt.Reconnect<<min(failures, 10), 12*b.opt.Reconnect)
			pause += time.Duration(rand.Int64N(int64(pause)/2 + 1))
			if wait(b.run, pause) != nil {
				return
			}
			continue
		}
		failures = 0
		select {
		case <-sock.done:
		case <-b.run.Done():
			return
		}
		// A clean drop is noticed by a poll of five seconds.
		if wait(b.run, time.Duration(rand.Int64N(int64(b.opt.Reconnect)))) != nil {
			return
		}
	}
}

func (b *Bridge) connect() (*phxSocket, error) {
	ctx, stop := context.WithTimeout(b.run, 30*time.Second)
	defer stop()
	token, err := b.tokens.get(ctx, false)
	if err != nil {
		return nil, err
	}
	sock, err := dialSocket(ctx, b.rest.base, token, b.led,
		socketOptions{who: "bridge", heartbeat: 30 * time.Second, answerIn: 10 * time.Second}, b.event)
	if err != nil {
		var refused errRefused
		if errors.As(err, &refused) && refused.status == 401 {
			_, _ = b.tokens.get(ctx, true)
		}
		return nil, err
	}
	b.change(func() { b.sock = sock })
	topic := "user:" + b.agentID
	if _, err := sock.join(ctx, topic, map[string]any{"executor_id": b.executorID, "bridge_version": b.opt.Version}); err != nil {
		sock.kill()
		return nil, err
	}
	response, err := sock.push(ctx, topic, "catchup", map[string]any{})
	if err != nil {
		if sock.alive() {
			b.led.Break("bridge", "bridge 2.5", "catchup: %v", err)
		}
	} else {
		b.led.check("bridge", "bridge 2.5", "catchup reply", "Catchup", response)
	}
	b.change(func() { b.joins++; b.catchups = append(b.catchups, response) })
	return sock, nil
}

// event handles one server push; it runs in the reader and starts goroutines
// for everything that takes time.
func (b *Bridge) event(f frame) {
	if !strings.HasPrefix(f.Topic, "user:") {
		b.led.Break("bridge", "bridge 2.4", "%s arrived on %s, which the bridge never joins", f.Event, topicKind(f.Topic))
		return
	}
	p := f.object()
	switch f.Event {
	case "gateway_message", "gateway_task", "gateway_scope_request", "gateway_agent_query":
		if str(p, "id") == "" {
			b.led.Break("bridge", "bridge 2.6", "%s without an id is dropped silently: it is lost", f.Event)
			return
		}
	}
	switch f.Event {
	case "gateway_message":
		b.received(p)
	case "gateway_task":
		b.receivedTask(p)
	case "gateway_command":
		b.command(p)
	case "gateway_scope_request":
		title, _, _ := strings.Cut(str(p, "content"), "\n")
		go b.report(call{method: "POST", path: "/api/gateway/scope-requests/" + str(p, "id") + "/respond",
			body: map[string]any{"title": clip(title, 80), "description": p["content"]}})
	case "gateway_agent_query":
		go b.query(p)
	case "phx_close", "phx_error":
		b.led.Break("bridge", "bridge 2.3", "%s is ignored by the bridge: close the socket to make it rejoin", f.Event)
	}
}

// received takes a message into the process: duplicates are acked again and not
// run, everything else waits for a slot.
func (b *Bridge) received(p map[string]any) {
	b.led.check("bridge", "bridge 2.7", "gateway_message", "GatewayMessage", p)
	id, msg, conv := str(p, "id"), str(p, "messageId"), str(p, "conversationId")
	b.judgeHistory(p)
	duplicate, gone := false, false
	b.change(func() {
		gone = b.offline
		first, again := b.seen[msg]
		duplicate = again && time.Since(first) < dedupWindow
		if duplicate {
			return
		}
		b.seen[msg] = time.Now()
		if other := b.inFlight[conv]; other != "" && other != msg {
			b.led.Break("bridge", "decision 17", "a second message of one conversation was pushed while a turn is in flight")
		}
		b.inFlight[conv] = msg
	})
	switch {
	case gone:
	case duplicate:
		go func() {
			status := b.ack(id)
			b.finish(TurnRecord{QueueID: id, MessageID: msg, ConversationID: conv, Outcome: "duplicate", AckStatus: status})
		}()
	default:
		go b.turn(p)
	}
}

// judgeHistory checks the ordering trap of bridge 4.1 beyond the shape: the
// trigger is there, once, and the newest entry is last.
func (b *Bridge) judgeHistory(p map[string]any) {
	list, ok := p["recentMessages"].([]any)
	if !ok {
		return
	}
	count := map[string]int{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		id := str(m, "id")
		if count[id]++; count[id] == 2 {
			b.led.Break("bridge", "bridge 4.1", "recentMessages holds one message twice")
		}
		if str(m, "messageType") == "EndTurn" {
			b.led.Break("bridge", "bridge 5.6", "recentMessages shows an EndTurn row")
		}
	}
	if len(list) == 0 && len(str(p, "content")) < 50_000 {
		b.led.Break("bridge", "bridge 4.1", "recentMessages is empty although the trigger exists")
	}
}

// command runs a control directive of bridge 2.11; unknown ones are ignored.
func (b *Bridge) command(p map[string]any) {
	kind := str(p, "type")
	b.change(func() { b.commands = append(b.commands, kind) })
	switch kind {
	case "":
		b.led.Break("bridge", "bridge 2.11", "gateway_command without a type")
	case "stop_generation":
		conv := str(p, "conversation_id")
		if conv == "" {
			b.led.Break("bridge", "bridge 2.11", "stop_generation without conversation_id")
		}
		b.read(func() {
			for _, stop := range b.cancels[conv] {
				stop(errStopped)
			}
		})
	case "stop_task":
		id := str(p, "task_id")
		if id == "" {
			b.led.Break("bridge", "bridge 2.11", "stop_task without task_id")
		}
		b.read(func() {
			if stop := b.taskStops[id]; stop != nil {
				stop(errStopped)
			}
		})
	case "shutdown":
		b.change(func() { b.shutdowns++ })
		go func() {
			ctx, stop := context.WithTimeout(context.WithoutCancel(b.run), 10*time.Second)
			defer stop()
			if b.run.Err() == nil {
				_, _ = b.Stop(ctx)
			}
		}()
	}
}

// WaitStopped blocks until the process ended.
func (b *Bridge) WaitStopped(ctx context.Context) error {
	select {
	case <-b.run.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// report sends a call whose answer only has to be a success.
func (b *Bridge) report(c call) {
	a, err := b.callREST(b.run, c)
	if err == nil && !a.OK() && b.run.Err() == nil {
		b.led.Break("bridge", "bridge 3", "%s %s answered %d", c.method, pathKind(c.path), a.Status)
	}
}

// pathKind replaces ids so that equal breaches are recorded once.
func pathKind(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if len(p) >= 20 {
			parts[i] = ":id"
		}
	}
	return strings.Join(parts, "/")
}
