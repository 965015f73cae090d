package outbound

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/agntchat/agntchat/internal/fault"
)

const (
	robotsLife  = time.Hour
	robotsMost  = 2000
	robotsBytes = 500 << 10 // what RFC 9309 asks to read at least
)

// Robots remembers what sites allow programs to read (RFC 9309).
type Robots struct {
	client *Client
	name   string

	mu  sync.Mutex
	set map[string]rules
}

type rules struct {
	data *robotstxt.RobotsData
	at   time.Time
}

// NewRobots asks with the client.
func NewRobots(c *Client) *Robots {
	name, _, _ := strings.Cut(c.cfg.UserAgent, "/")
	return &Robots{client: c, name: name, set: map[string]rules{}}
}

// Check refuses an address that its site asks programs not to read. A site whose
// rules cannot be read allows nothing; one that has none allows all.
func (r *Robots) Check(ctx context.Context, u *url.URL) error {
	site := u.Scheme + "://" + u.Host
	r.mu.Lock()
	known, ok := r.set[site]
	r.mu.Unlock()
	if !ok || time.Since(known.at) > robotsLife {
		res, err := r.client.Do(ctx, Request{URL: site + "/robots.txt", MaxBody: robotsBytes})
		if err != nil {
			return err
		}
		data, err := robotstxt.FromStatusAndBytes(res.Status, res.Body)
		if err != nil {
			data, _ = robotstxt.FromStatusAndBytes(200, nil) // what cannot be parsed rules nothing
		}
		known = rules{data, time.Now()}
		r.keep(site, known)
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if !known.data.TestAgent(path, r.name) {
		return fault.New(fault.Forbidden, "robots_disallow", "This site asks programs not to read this page.")
	}
	return nil
}

func (r *Robots) keep(site string, v rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.set) >= robotsMost {
		for k := range r.set { // any: they are read again when needed
			delete(r.set, k)
			if len(r.set) < robotsMost/2 {
				break
			}
		}
	}
	r.set[site] = v
}
