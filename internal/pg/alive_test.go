package pg_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/pg"
)

// TestIsQuiet has a read pending on the connection all the time, as pgx's
// background reader may: looking must not wait behind it.
func TestIsQuiet(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _, _ = c.Read(make([]byte, 1)); close(ended) }()
	look := func() bool {
		answer := make(chan bool, 1)
		go func() { answer <- pg.IsQuiet(c) }()
		select {
		case quiet := <-answer:
			return quiet
		case <-time.After(10 * time.Second):
			t.Fatal("it waits for the pending read")
			return false
		}
	}
	for range 100 {
		if !look() {
			t.Fatal("an open connection is taken for a dead one")
		}
	}
	far.Close()
	<-ended
	if look() {
		t.Fatal("the end of the connection was not seen")
	}
}
