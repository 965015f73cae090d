package load

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// flight is one run: which messages are under way and who still waits for them.
type flight struct {
	set    string
	begun  time.Time
	sent   []int64 // nanoseconds after begun, by message
	left   []atomic.Int32
	done   chan struct{} // one token per message that is everywhere
	got    atomic.Int64
	size   atomic.Int64
	lat    histogram
	broken chan error
}

func (f *flight) fail(err error) {
	select {
	case f.broken <- err:
	default:
	}
}

// take looks at one frame of the server.
func (f *flight) take(s *sock, p []byte) {
	if s.set != f.set {
		return
	}
	if s.spec.Prefix == "" || !bytes.HasPrefix(p, []byte(s.spec.Prefix)) {
		if bytes.Contains(p[:min(len(p), 200)], []byte(`"status":"error"`)) {
			f.fail(fmt.Errorf("refused: %.300s", p))
		}
		return
	}
	at := bytes.IndexByte(p[len(s.spec.Prefix):], '#')
	if at < 0 {
		return // of something else
	}
	index := digits(p[len(s.spec.Prefix)+at+1:])
	if index < 0 || index >= len(f.left) {
		return // of an earlier run
	}
	f.got.Add(1)
	f.lat.add(time.Since(f.begun) - time.Duration(atomic.LoadInt64(&f.sent[index])))
	if f.left[index].Add(-1) == 0 {
		f.size.Store(int64(len(p)))
		f.done <- struct{}{}
	}
}

func digits(p []byte) int {
	if len(p) < 8 {
		return -1
	}
	n := 0
	for _, c := range p[:8] {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// runs numbers messages across runs, so that late ones of an earlier run count nothing.
func (c *crowd) run(o Order) (Answer, error) {
	c.mu.Lock()
	socks := c.socks[o.Set]
	c.mu.Unlock()
	var senders []*sock
	waiting := map[int]int32{}
	for _, s := range socks {
		if s.spec.Prefix != "" && !s.spec.Stall {
			waiting[s.spec.Group]++
		}
		if s.spec.Send != "" {
			senders = append(senders, s)
		}
	}
	if o.Run.HTTP != "" {
		var err error
		if senders, err = c.httpConns(o); err != nil {
			return Answer{}, err
		}
		defer c.close(o.Set + " http")
	}
	if len(senders) == 0 {
		return Answer{}, errors.New("nobody to send")
	}
	f := &flight{
		set: o.Set, begun: time.Now(), sent: make([]int64, o.Run.Count), left: make([]atomic.Int32, o.Run.Count),
		done: make(chan struct{}, o.Run.Count), broken: make(chan error, 1),
	}
	c.current.Store(f)
	defer c.current.Store(nil)
	return f.fly(o.Run, senders, waiting)
}

// mostWaiting is where a run at a fixed rate slows down: the server is saturated, and
// its times say so.
const mostWaiting = 400

// fly sends and waits. A message is done when everybody has it.
func (f *flight) fly(r Run, senders []*sock, waiting map[int]int32) (Answer, error) {
	stop := f.begun.Add(time.Duration(r.Seconds * float64(time.Second)))
	patience := time.NewTimer(time.Until(stop) + 60*time.Second)
	defer patience.Stop()
	window := r.Window
	if window == 0 {
		window = mostWaiting
	}
	inFlight, sent := 0, 0
	wait := func() error {
		select {
		case <-f.done:
			inFlight--
			return nil
		case err := <-f.broken:
			return err
		case <-patience.C:
			return fmt.Errorf("%d messages did not arrive everywhere", inFlight)
		}
	}
	for ; sent < r.Count && time.Now().Before(stop); sent++ {
		if r.Window == 0 {
			time.Sleep(time.Until(f.begun.Add(time.Duration(float64(sent) / r.Rate * float64(time.Second)))))
		}
		for inFlight >= window {
			if err := wait(); err != nil {
				return Answer{}, err
			}
		}
		s := senders[sent%len(senders)]
		f.left[sent].Store(waiting[s.spec.Group])
		atomic.StoreInt64(&f.sent[sent], int64(time.Since(f.begun)))
		inFlight++
		data := marked(s.spec.Send, sent)
		if !s.http {
			data = frame(data)
		}
		if err := s.write(data); err != nil {
			return Answer{}, err
		}
	}
	for inFlight > 0 {
		if err := wait(); err != nil {
			return Answer{}, err
		}
	}
	took := time.Since(f.begun)
	return Answer{
		Messages: sent, Deliveries: f.got.Load(), Seconds: took.Seconds(), FrameBytes: int(f.size.Load()),
		P50: f.lat.quantile(.5), P99: f.lat.quantile(.99),
	}, nil
}

// httpConns opens connections that send the request and throw the answers away.
func (c *crowd) httpConns(o Order) ([]*sock, error) {
	var out []*sock
	spec := &Spec{Send: o.Run.HTTP}
	for range max(o.Run.Conns, 1) {
		fd, err := dial(o.Addr, 0, false)
		if err != nil {
			return nil, err
		}
		s := &sock{fd: fd, set: o.Set + " http", spec: spec, http: true}
		if err := c.add(s); err != nil {
			_ = syscall.Close(fd)
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// histogram counts times in steps of 1/32 of a power of two of microseconds.
type histogram struct {
	mu    sync.Mutex
	steps [64 * 32]int64
	n     int64
}

func (h *histogram) add(d time.Duration) {
	us := uint64(max(d.Microseconds(), 0)) + 32
	shift := bits.Len64(us) - 6
	step := shift*32 + int(us>>shift)
	h.mu.Lock()
	h.steps[step]++
	h.n++
	h.mu.Unlock()
}

// quantile is in milliseconds.
func (h *histogram) quantile(q float64) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	need := int64(q*float64(h.n-1)) + 1
	var seen int64
	for step, n := range h.steps {
		if seen += n; seen >= need && n > 0 {
			shift := max((step-32)/32, 0)
			return (float64(uint64(step-shift*32)<<shift) - 32) / 1000
		}
	}
	return 0
}
