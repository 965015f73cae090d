package follow

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
)

// maxLog is the size in bytes at which the log is renamed to <name>.1; one old one is kept.
const maxLog = 1 << 20

// logFile is a log of bounded size that only its owner reads.
type logFile struct {
	path string

	mu   sync.Mutex
	f    *os.File
	size int64
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	return l, l.open()
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|lockfile.NoFollow, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open log: %w", err), f.Close())
	}
	l.f, l.size = f, st.Size()
	return nil
}

// Write appends one record. A log that cannot be written stops nothing: its error is for slog, which drops it.
func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil || l.size > 0 && l.size+int64(len(b)) > maxLog {
		if l.f != nil {
			_ = l.f.Close()
			l.f = nil
			_ = os.Rename(l.path, l.path+".1") // when that fails it goes on in the same file
		}
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.f.Write(b)
	l.size += int64(n)
	return n, err
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
