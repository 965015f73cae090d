package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// gate is a proxy before the relay that kills a process at a chosen place of a chosen request.
type gate struct {
	url    string
	server *httptest.Server
	delay  time.Duration // of soonAfter

	mu    sync.Mutex
	at    int // requests until it strikes; -1 for never
	place int
	kill  func()
}

// The places.
const (
	beforeRelay = iota // the relay never hears of it
	afterRelay         // the relay did it, the client never hears
	afterAnswer        // the client heard
	soonAfter          // and does something with it
	places
)

func newGate(t *testing.T) *gate {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	return &gate{at: -1, server: s, url: "http://" + s.Listener.Addr().String()}
}

func (g *gate) arm(at, place int, kill func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at, g.place, g.kill = at, place, kill
}

func (g *gate) strike() (place int, kill func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at < 0 {
		return -1, nil
	}
	g.at--
	if g.at >= 0 {
		return -1, nil
	}
	return g.place, g.kill
}

// open begins to pass requests on.
func (g *gate) open(t *testing.T, target string) {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	g.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place, kill := g.strike()
		switch place {
		case beforeRelay:
			kill()
			panic(http.ErrAbortHandler)
		case afterRelay:
			// The client's end must not end the relay's work.
			proxy.ServeHTTP(&nowhere{header: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
			kill()
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
		switch place {
		case afterAnswer:
			_ = http.NewResponseController(w).Flush()
			kill()
		case soonAfter:
			time.AfterFunc(g.delay, kill)
		}
	})
	g.server.Start()
	t.Cleanup(g.server.Close)
}

// nowhere is an answer that nobody gets.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}
