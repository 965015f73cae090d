//go:build unix

package pgembed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout   = 60 * time.Second // crash recovery takes seconds
	fastShutdown   = 5 * time.Second  // SIGINT, then SIGQUIT
	immediateLimit = 5 * time.Second  // SIGQUIT, then SIGKILL
	healthyAfter   = 10 * time.Second // a run this long starts the backoff anew
	maxFailures    = 10               // in a row, before a start gives up; one that has run is tried on, less often
	firstBackoff   = 50 * time.Millisecond
	lastBackoff    = 2 * time.Second
	rareBackoff    = 10 * time.Second
)

// ErrStopped is Wait's answer after Stop.
var ErrStopped = errors.New("postgres was stopped")

// Options says what to run. DataDir is required.
type Options struct {
	// DataDir gets a folder pg/<major> with the data, which is kept between runs, and
	// beside it a lock file and, if the path is short enough, the socket.
	DataDir string
	// BinDir holds postgres and initdb. Empty: Find looks for them.
	BinDir string
	// Database is made if it is not there. Default "agntchat".
	Database string
	// Settings are added to the defaults. Durability cannot be turned off.
	Settings map[string]string
	Logger   *slog.Logger

	handover    *handover     // tests only
	maxFailures int           // likewise
	pause       time.Duration // likewise
}

// Server is a supervised Postgres: it is started again when it dies.
type Server struct {
	opts      Options
	bins      Binaries
	owner     Owner
	dataDir   string
	socketDir string
	lock      *os.File
	log       *slog.Logger

	mu       sync.Mutex
	proc     *os.Process // nil between two runs
	ran      bool        // it took connections once
	stopping bool
	stop     chan struct{} // closed by Stop
	done     chan struct{} // closed when nothing runs any more
	err      error         // set before done is closed
	output   *logWriter
}

// Start finds the binaries, makes the data folder if it is new, ends a leftover
// server of an earlier run, starts Postgres and returns when it takes connections
// and the database exists. ctx bounds only the start.
func Start(ctx context.Context, opts Options) (_ *Server, err error) {
	s := &Server{opts: opts, log: opts.Logger, stop: make(chan struct{}), done: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Database == "" {
		s.opts.Database = "agntchat"
	}
	if s.opts.maxFailures == 0 {
		s.opts.maxFailures, s.opts.pause = maxFailures, rareBackoff
	}
	for _, k := range []string{"fsync", "full_page_writes"} {
		if v, ok := opts.Settings[k]; ok && v != "on" {
			return nil, fmt.Errorf("embedded postgres: %s must stay on: the data has to survive a crash", k)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("postgres did not start in a minute"))
	defer cancel()
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("embedded postgres: %w", err)
	}
	defer func() {
		if err != nil {
			_ = s.Stop(context.WithoutCancel(ctx)) // the first error says more
		}
	}()
	go s.supervise()
	if err := s.waitReady(ctx); err != nil {
		return nil, fmt.Errorf("embedded postgres: %w", err)
	}
	s.mu.Lock()
	s.ran = true
	s.mu.Unlock()
	if err := ensureDatabase(ctx, s.socketDir, s.opts.Database); err != nil {
		return nil, fmt.Errorf("embedded postgres: %w", err)
	}
	return s, nil
}

// URL is the address of the database, over the Unix socket. It stays the same
// across restarts.
func (s *Server) URL() string { return URL(s.socketDir, s.opts.Database) }

// Done is closed when supervision has ended: after Stop, or when Postgres failed
// ten times in a row before it ever ran.
func (s *Server) Done() <-chan struct{} { return s.done }

// Wait blocks until Done and says why: ErrStopped after Stop.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

// PID is the process id of the running postmaster, 0 between two runs.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.Pid
}

// Stop shuts Postgres down: fast (open transactions are rolled back), after 5 s or
// at the end of ctx at once without a checkpoint. Close pools before. It returns
// when no process is left. It may be called again.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		close(s.stop)
		s.kill(syscall.SIGINT)
	}
	s.mu.Unlock()
	gentle, cancel := context.WithTimeout(ctx, fastShutdown)
	defer cancel()
	select {
	case <-s.done:
	case <-gentle.Done():
		s.signal(syscall.SIGQUIT)
		select {
		case <-s.done:
		case <-time.After(immediateLimit):
			s.signal(syscall.SIGKILL)
			<-s.done
		}
	}
	if s.err != nil && !errors.Is(s.err, ErrStopped) {
		return s.err
	}
	return nil
}

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill(sig)
}

// kill needs mu. The process is reaped under mu too, so the id is still its own.
func (s *Server) kill(sig syscall.Signal) {
	if s.proc != nil {
		_ = s.proc.Signal(sig) // it may have ended by itself
	}
}

// supervise runs Postgres until Stop. It keeps its thread, because the kernel ends
// Postgres when the thread that started it ends (Pdeathsig).
func (s *Server) supervise() {
	runtime.LockOSThread()
	defer func() {
		s.cleanUp()
		close(s.done)
	}()
	failures, backoff := 0, firstBackoff
	for {
		began := time.Now()
		err := s.runOnce()
		if s.isStopping() {
			s.err = ErrStopped
			return
		}
		if time.Since(began) > healthyAfter {
			failures, backoff = 0, firstBackoff
		}
		if failures++; failures >= s.opts.maxFailures {
			if !s.hasRun() {
				s.err = fmt.Errorf("postgres ended %d times in a row: %w: %s", failures, err, s.output.last())
				s.log.Error("embedded postgres gave up", slog.Any("error", s.err))
				return
			}
			backoff = s.opts.pause // a full disk is emptied one day, and nobody should have to start the server anew for it
		}
		s.log.Warn("embedded postgres ended and is started again", slog.Any("error", err), slog.String("output", s.output.last()))
		select {
		case <-time.After(backoff):
		case <-s.stop:
			s.err = ErrStopped
			return
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

func (s *Server) hasRun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// runOnce starts Postgres and blocks until it ends.
func (s *Server) runOnce() error {
	cmd := s.command()
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return ErrStopped
	}
	err := cmd.Start()
	if err == nil {
		s.proc = cmd.Process
	}
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	err = cmd.Wait()
	s.mu.Lock()
	s.proc = nil
	s.mu.Unlock()
	if err == nil {
		err = errors.New("it shut down without being asked to")
	}
	return err
}

func (s *Server) command() *exec.Cmd {
	settings := map[string]string{
		"listen_addresses": "", "unix_socket_directories": s.socketDir, "unix_socket_permissions": "0700", "port": socketPort,
		"shared_buffers": "128MB", "max_connections": "100", "synchronous_commit": "on",
		// Errors of statements may quote people's data: we get and log them ourselves.
		"log_min_messages": "log", "log_min_error_statement": "panic", "log_error_verbosity": "terse", "log_line_prefix": "",
		"log_timezone": "UTC", "timezone": "UTC",
	}
	maps.Copy(settings, s.opts.Settings)
	args := []string{"-D", s.dataDir}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", k+"="+settings[k])
	}
	cmd := s.owner.Command(filepath.Join(s.bins.Dir, "postgres"), args...)
	dieWithUs(cmd.SysProcAttr)
	cmd.Stdout, cmd.Stderr = s.output, s.output
	cmd.WaitDelay = time.Second // orphaned backends may hold the pipe after a crash
	return cmd
}

// waitReady waits for the first connection; it gives up at once when Postgres says
// something that waiting does not cure.
func (s *Server) waitReady(ctx context.Context) error {
	ready := make(chan error, 1)
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { ready <- WaitReady(wctx, s.socketDir) }()
	select {
	case err := <-ready:
		if err != nil {
			err = fmt.Errorf("%w: %s", err, s.output.last())
		}
		return err
	case <-s.output.hopeless:
		return fmt.Errorf("postgres does not start: %s", s.output.last())
	case <-s.done:
		return s.err
	}
}

func (s *Server) cleanUp() {
	if !strings.HasPrefix(s.socketDir, s.opts.DataDir) {
		_ = os.Remove(s.socketDir) // only when it is empty, and it is remade
	}
	_ = s.lock.Close()
}
