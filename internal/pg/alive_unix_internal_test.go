//go:build unix

package pg

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestIsQuietLooksPastAReader: pgx leaves a reader on a connection after a slow
// write; looking at such a connection must not wait for it.
func TestIsQuietLooksPastAReader(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() { _, err := near.Read(make([]byte, 1)); read <- err }()
	quiet := make(chan bool)
	for range 100 { // the reader is there in at least some of them
		go func() { quiet <- isQuiet(near) }()
		select {
		case q := <-quiet:
			if !q {
				t.Fatal("nothing came in")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("isQuiet waits for a reader")
		}
	}
	far.Close()
	<-read
	if isQuiet(near) {
		t.Error("the end of the connection was not seen")
	}
}
