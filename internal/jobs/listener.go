package jobs

import (
	"context"
	"strconv"
	"sync"

	"github.com/riverqueue/river/riverdriver"
)

// topicInsert is River's notification that a queue has a new job; the payload is
// {"queue": "name"}. The contract test notices when River changes it.
const topicInsert = "river_insert"

// nudges are the queues that have new jobs. It is bounded by the number of queues:
// a queue that is nudged twice before anybody looks is nudged once.
type nudges struct {
	mu     sync.Mutex
	queues map[string]struct{}
	wake   chan struct{} // holds one token while queues is not empty
}

func newNudges() *nudges {
	return &nudges{queues: make(map[string]struct{}), wake: make(chan struct{}, 1)}
}

func (n *nudges) add(queue string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queues[queue] = struct{}{}
	n.signal()
}

// signal needs mu.
func (n *nudges) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// take gives one queue after a token of wake was received.
func (n *nudges) take() (queue string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for queue = range n.queues {
		delete(n.queues, queue)
		ok = true
		break
	}
	if len(n.queues) > 0 {
		n.signal()
	}
	return queue, ok
}

// listener joins this process's nudges with what Postgres notifies, if there is a
// connection that can LISTEN. River calls it from one goroutine at a time.
type listener struct {
	nudges *nudges
	schema string
	remote riverdriver.Listener // nil through a transaction pooler
	queued []*riverdriver.Notification
}

func (l *listener) Close(ctx context.Context) error {
	if l.remote == nil {
		return nil
	}
	return l.remote.Close(ctx)
}

func (l *listener) Connect(ctx context.Context) error {
	if l.remote == nil {
		return nil
	}
	return l.remote.Connect(ctx)
}

func (l *listener) Listen(ctx context.Context, topic string) error {
	if l.remote == nil {
		return nil
	}
	return l.remote.Listen(ctx, topic)
}

func (l *listener) Unlisten(ctx context.Context, topic string) error {
	if l.remote == nil {
		return nil
	}
	return l.remote.Unlisten(ctx, topic)
}

func (l *listener) Ping(ctx context.Context) error {
	if l.remote == nil {
		return nil
	}
	return l.remote.Ping(ctx)
}

func (l *listener) Schema() string {
	if l.remote == nil {
		return l.schema
	}
	return l.remote.Schema()
}

func (l *listener) SetAfterConnectExec(sql string) {
	if l.remote != nil {
		l.remote.SetAfterConnectExec(sql)
	}
}

// WaitForNotification blocks until a nudge or a notification comes or ctx ends.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	if len(l.queued) > 0 {
		first := l.queued[0]
		l.queued = l.queued[1:]
		return first, nil
	}
	type heard struct {
		n   *riverdriver.Notification
		err error
	}
	var remote chan heard // stays nil, and is never ready, without a connection
	waitCtx, stop := context.WithCancel(ctx)
	defer stop()
	if l.remote != nil {
		remote = make(chan heard, 1)
		go func() {
			n, err := l.remote.WaitForNotification(waitCtx)
			remote <- heard{n, err}
		}()
	}
	for {
		select {
		case h := <-remote:
			return h.n, h.err
		case <-l.nudges.wake:
			queue, ok := l.nudges.take()
			if !ok {
				continue
			}
			if remote != nil {
				stop() // the connection is free again before we return
				if h := <-remote; h.n != nil {
					l.queued = append(l.queued, h.n)
				}
			}
			return &riverdriver.Notification{Topic: topicInsert, Payload: `{"queue": ` + strconv.Quote(queue) + `}`}, nil
		case <-ctx.Done():
			if remote != nil {
				if h := <-remote; h.n != nil {
					l.queued = append(l.queued, h.n)
				}
			}
			return nil, ctx.Err()
		}
	}
}
