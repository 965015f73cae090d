// Package load is the client side of the benchmarks. It runs in a process of its
// own, so that its cost is not the server's: raw frames over raw sockets, read by
// one epoll loop per processor. It knows how to hold many sockets, to send
// through some of them, and to tell when each message has reached everybody.
package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"syscall"
)

// Order is one line from the parent; the answer is one Answer line.
type Order struct {
	Do    string // open | beat | run | close | bridge | posts | exchange
	Set   string // name of a set of sockets
	Addr  string // host:port
	Specs []Spec // open
	Run   Run    // run
	Call  Call   // bridge, posts, exchange
}

// Spec is some sockets of one kind.
type Spec struct {
	N      int
	Path   string // of the upgrade, with query
	Topic  string // joined after the upgrade; empty for none
	Params string // of the join, JSON
	Prefix string // frames that begin so are counted; empty: none are expected here
	Send   string // a frame with # where the marker goes; empty: does not send
	Group  int    // a message reaches the counted sockets of the sender's group
	Stall  bool   // never reads, with the smallest buffers
}

// Run sends messages and waits until they have arrived everywhere.
type Run struct {
	Window  int     // messages in flight; 0: at Rate
	Rate    float64 // messages per second
	Count   int     // at most so many messages …
	Seconds float64 // … and so long
	HTTP    string  // instead of the senders' frames: a request with # where the marker goes
	Conns   int     // … over so many connections
}

// Answer is what came of an order. Times in milliseconds.
type Answer struct {
	Err        string
	Opened     int
	Messages   int
	Deliveries int64
	Seconds    float64
	P50, P99   float64
	FrameBytes int // of a counted frame

	StartP50, StartP99 float64 // tasks: from the push to the answer of accept
}

// Main obeys orders until its input ends.
func Main(in io.Reader, out io.Writer) error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err == nil {
		lim.Cur = lim.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim) // what there is must do
	}
	c, err := newCrowd()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	enc := json.NewEncoder(out)
	for lines.Scan() {
		var o Order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("order: %w", err)
		}
		a, err := c.obey(o)
		if err != nil {
			a.Err = err.Error()
		}
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (c *crowd) obey(o Order) (Answer, error) {
	switch o.Do {
	case "open":
		n, err := c.open(o)
		return Answer{Opened: n}, err
	case "beat":
		return Answer{}, c.beat()
	case "run":
		return c.run(o)
	case "close":
		c.close(o.Set)
		return Answer{}, nil
	case "bridge":
		return Answer{}, c.bridge(o)
	case "posts":
		return c.posts(o)
	case "exchange":
		return exchange(o)
	default:
		return Answer{}, fmt.Errorf("no such order: %q", o.Do)
	}
}
