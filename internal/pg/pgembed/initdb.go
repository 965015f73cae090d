//go:build unix

package pgembed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// superuser is the only role of an embedded server. There is no password: the
// socket lies in a folder that only its owner may enter.
const superuser = "postgres"

const socketPort = "5432" // part of the socket's name; nothing listens on TCP

// Init makes a new data folder, owned by owner. The folder must be absent or empty.
// more are further flags of initdb.
func Init(ctx context.Context, b Binaries, owner Owner, dataDir string, more ...string) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := owner.Chown(dataDir); err != nil {
		return fmt.Errorf("give data folder to postgres: %w", err)
	}
	locale := "C.UTF-8"
	if runtime.GOOS == "darwin" { // which has no such locale
		locale = "en_US.UTF-8"
	}
	args := append([]string{"-D", dataDir, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=" + locale, "--no-instructions"}, more...)
	cmd := owner.Command(filepath.Join(b.Dir, "initdb"), args...)
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start initdb: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("initdb: %w: %s", errors.Join(err, context.Cause(ctx)), out.String())
	}
	return nil
}

// URL is the address of a database on a server whose socket is in socketDir.
func URL(socketDir, database string) string {
	return "postgres://" + superuser + "@/" + database + "?host=" + strings.ReplaceAll(socketDir, "/", "%2F") + "&sslmode=disable"
}

// probe asks the server on the socket whether it takes connections: it sends a
// start-up message and looks at the first byte of the answer.
func probe(ctx context.Context, socket string) bool {
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	body := append([]byte{0, 3, 0, 0}, "user\x00"+superuser+"\x00database\x00postgres\x00\x00"...)
	msg := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
	if _, err := c.Write(append(msg, body...)); err != nil {
		return false
	}
	var first [1]byte
	if _, err := c.Read(first[:]); err != nil || first[0] != 'R' {
		return false
	}
	_, _ = c.Write([]byte{'X', 0, 0, 0, 4}) // a polite goodbye keeps the server's log clean
	return true
}

// WaitReady blocks until the server in socketDir takes connections or ctx ends.
func WaitReady(ctx context.Context, socketDir string) error {
	socket := SocketPath(socketDir)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !probe(ctx, socket) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for postgres: %w", context.Cause(ctx))
		}
	}
	return nil
}

// SocketPath is the socket's file in its folder.
func SocketPath(dir string) string { return filepath.Join(dir, ".s.PGSQL."+socketPort) }

// tail keeps the last part of a program's output.
type tail struct{ b []byte }

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > tailBytes {
		t.b = t.b[len(t.b)-tailBytes:]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.b)) }
