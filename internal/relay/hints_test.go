package relay_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/relay"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// stream is an open event stream.
type stream struct {
	p     *place
	res   *http.Response
	lines *bufio.Reader
	close func()
}

// listen opens an event stream as u.
func (p *place) listen(u *relaytest.User) (*stream, error) {
	none := map[string]any{}
	r := *p.Relay
	r.URL += "/events"
	ctx, cancel := context.WithCancel(p.ctx())
	res, err := r.Open(ctx, wire.NewRequest(wire.ToolEvents, u.Auth(wire.ToolEvents, audience, p.clock(), none), none))
	if err != nil {
		cancel()
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer cancel()
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return nil, &relaytest.Refusal{Status: res.StatusCode, Text: wire.ErrorText(b)}
	}
	s := &stream{p: p, res: res, lines: bufio.NewReader(res.Body), close: cancel}
	p.t.Cleanup(cancel)
	return s, nil
}

// hint waits for the next event, whole.
func (s *stream) hint() string {
	s.p.t.Helper()
	text := ""
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.p.t.Fatalf("after %q: %v", text, err)
		}
		if line == "\n" && strings.HasPrefix(text, "event:") {
			return text
		}
		if line != "\n" && !strings.HasPrefix(line, ":") {
			text += line
		}
	}
}

const mail = "event: mail\ndata: {}\n"

// TestL1_PushHint: one hint at the start, one when a letter has come, with nothing
// in it; none for others, and info tells where.
func TestL1_PushHint(t *testing.T) {
	t.Parallel()
	p := open(t)
	var info wire.Info
	res, err := p.HTTP.Get(p.URL + "/info")
	p.ok(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	p.ok(err)
	if !strings.Contains(string(b), `"events":"/events"`) {
		t.Errorf("info: %s %+v", b, info)
	}
	a, to := p.user(0), p.user(0)
	s, err := p.listen(to)
	p.ok(err)
	quiet, err := p.listen(a)
	p.ok(err)
	if ct := s.res.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %s", ct)
	}
	if got := s.hint() + quiet.hint(); got != mail+mail {
		t.Errorf("at the start: %q", got)
	}
	for n := range 3 {
		p.send(a, to, strings.Repeat("x", n+1))
		if got := s.hint(); got != mail {
			t.Errorf("a letter came: %q", got)
		}
		if got := p.bodies(to, ""); len(got) != 1 {
			t.Errorf("after the hint: %v", got)
		}
	}
	p.relay.Close()
	if rest, err := io.ReadAll(quiet.lines); err != nil || strings.Contains(string(rest), "event:") {
		t.Errorf("somebody else was woken: %q %v", rest, err)
	}
	if _, err := io.ReadAll(s.lines); err != nil {
		t.Errorf("a stream must end with the server: %v", err)
	}
	_, err = p.listen(a)
	p.refused(err, 429, "poll instead")
}

// TestL1_PushHintIsSigned like every call.
func TestL1_PushHintIsSigned(t *testing.T) {
	t.Parallel()
	p := open(t)
	none := map[string]any{}
	u := relaytest.NewUser()
	forged := u.Auth(wire.ToolEvents, "http://elsewhere.test", p.clock(), none)
	p.refused(p.Post(p.ctx(), wire.NewRequest(wire.ToolEvents, forged, none), nil), 400, "bad signature")
	once := wire.NewRequest(wire.ToolEvents, u.Auth(wire.ToolEvents, audience, p.clock(), none), none)
	first, err := p.Open(p.ctx(), once)
	p.ok(err)
	defer first.Body.Close()
	if _, err := bufio.NewReader(first.Body).ReadString('\n'); err != nil || first.StatusCode != 200 {
		t.Fatalf("%d %v", first.StatusCode, err)
	}
	p.refused(p.Post(p.ctx(), once, nil), 400, "replay")
}

// TestL1_StreamsAreBounded by sender and by network address; a closed one makes room.
func TestL1_StreamsAreBounded(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) { c.Streams, c.StreamsOfAddress, c.StreamsOfSender = 10, 3, 2 })
	ended := make(chan struct{}, 16)
	p.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.relay.ServeHTTP(w, r)
		ended <- struct{}{}
	})
	u := relaytest.NewUser()
	first, err := p.listen(u)
	p.ok(err)
	_, err = p.listen(u)
	p.ok(err)
	_, err = p.listen(u)
	p.refused(err, 429, "poll instead") // of this sender
	_, err = p.listen(relaytest.NewUser())
	p.ok(err)
	_, err = p.listen(relaytest.NewUser())
	p.refused(err, 429, "poll instead") // of this network address
	<-ended
	<-ended // the two that were refused
	first.hint()
	first.close()
	<-ended
	_, err = p.listen(u)
	p.ok(err)
}
