// Package proc runs an agent CLI as a child: its own process group, killed as a
// whole; a known environment; lines in and out; output that cannot fill the
// memory. It knows no CLI.
package proc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// maxLine bounds one line of a CLI's output; a longer one ends the process.
const maxLine = 32 << 20

// Spec describes a child.
type Spec struct {
	Path string
	Args []string // never a secret: other users of the machine can read them
	Env  []string // the whole environment
	Dir  string
}

// Process is a running child with its own process group.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan []byte
	done   chan struct{}
	err    error
	stderr tail
	write  sync.Mutex
	kill   sync.Once
}

// Start runs the child. Its lines must be read, or it is held up.
func Start(s Spec) (*Process, error) {
	cmd := exec.Command(s.Path, s.Args...) //nolint:noctx // it lives over many turns and is ended as a group, see Kill
	cmd.Env, cmd.Dir = s.Env, s.Dir
	setGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	p := &Process{cmd: cmd, in: in, lines: make(chan []byte, 64), done: make(chan struct{})}
	cmd.Stderr = &p.stderr
	cmd.WaitDelay = 2 * time.Second // a grandchild that holds the pipe must not hold us
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	go p.read(out)
	return p, nil
}

func (p *Process) read(out io.Reader) {
	sc := bufio.NewScanner(out)
	sc.Buffer(make([]byte, 64<<10), maxLine)
	for sc.Scan() {
		if len(sc.Bytes()) > 0 {
			p.lines <- append([]byte(nil), sc.Bytes()...)
		}
	}
	if sc.Err() != nil {
		p.Kill()
		_, _ = io.Copy(io.Discard, out)
	}
	p.err = p.cmd.Wait()
	killGroup(p.cmd) // what the child left behind
	close(p.lines)
	close(p.done)
}

// Lines are the child's lines of output; closed when it has ended.
func (p *Process) Lines() <-chan []byte { return p.lines }

// Send writes one JSON value as a line. It may block while the child does not
// read.
func (p *Process) Send(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode for child: %w", err)
	}
	p.write.Lock()
	defer p.write.Unlock()
	if _, err := p.in.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("write to child: %w", err)
	}
	return nil
}

// Done is closed when the child is gone and its lines have been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pid is the child's process id, which is also its group's.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends the whole group at once. It does not wait.
func (p *Process) Kill() { p.kill.Do(func() { killGroup(p.cmd) }) }

// CloseInput tells the child that nothing more will come.
func (p *Process) CloseInput() { _ = p.in.Close() }

// Stop closes the child's input, lets it end by itself for a moment, then kills
// its group. It returns when the child is gone; unread lines are dropped.
func (p *Process) Stop(grace time.Duration) {
	_ = p.in.Close()
	t := time.NewTimer(grace)
	defer t.Stop()
	for {
		select {
		case _, ok := <-p.lines:
			if !ok {
				<-p.done
				return
			}
		case <-t.C:
			p.Kill()
		}
	}
}

// Killed says, after Lines was closed, whether a signal ended the child.
func (p *Process) Killed() bool {
	<-p.done
	e, ok := errors.AsType[*exec.ExitError](p.err)
	return ok && signalled(e)
}

// Stderr is the end of what the child wrote there, at most 8 KiB, as one line.
func (p *Process) Stderr() string { return strings.Join(strings.Fields(p.stderr.String()), " ") }

// tail keeps the end of a stream.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - 8<<10; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
