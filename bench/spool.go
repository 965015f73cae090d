package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// letterPerson is a person's machine with `agnt letter`.
type letterPerson struct{ agnt, home, name, relay string }

func (p letterPerson) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.agnt, append([]string{"letter"}, args...)...)
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "RETALK_USER=" + p.name, "RETALK_RELAY=" + p.relay}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return cmd
}

func (p letterPerson) do(ctx context.Context, args ...string) (string, error) {
	var said bytes.Buffer
	cmd := p.command(ctx, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("agnt letter %s: %w\n%s", args[0], err, &said)
	}
	return strings.TrimSpace(string(out)), nil
}

// spooled measures a letter's whole way with the shipped programs: `agnt letter send` in a process of its own, the server's relay,
// its push hint, and the file of an agent session that `agnt letter follow` writes, with all syncing of disks. One line begins when
// the sending process does, the other when it said that the letter is at the relay.
func (h *house) spooled(ctx context.Context, url string, seconds float64) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	people := map[string]letterPerson{}
	address := map[string]string{}
	for _, name := range []string{"alice", "bob"} {
		home, err := os.MkdirTemp("", "letters-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(home) }()
		people[name] = letterPerson{filepath.Join(filepath.Dir(h.binary), "agnt"), home, name, url}
		if address[name], err = people[name].do(ctx, "init", "-np"); err != nil {
			return err
		}
	}
	alice, bob := people["alice"], people["bob"]
	if _, err := alice.do(ctx, "add", address["bob"], "--peer", "bob"); err != nil {
		return err
	}
	if _, err := bob.do(ctx, "session", "start", "--session", "bench"); err != nil {
		return err
	}
	follower := bob.command(ctx, "follow", "--peer", address["alice"])
	var said bytes.Buffer
	follower.Stderr = &said
	if err := follower.Start(); err != nil {
		return err
	}
	defer func() {
		_ = follower.Process.Signal(syscall.SIGTERM)
		_ = follower.Wait()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, &said)
		}
	}()
	if err := eventually(ctx, func() (bool, error) {
		out, err := bob.do(ctx, "follow", "status", "--json")
		return err == nil && strings.Contains(out, `"push":true`), nil
	}); err != nil {
		return fmt.Errorf("the follower: %w", err)
	}
	spool := filepath.Join(bob.home, ".retalk", "bob", "sessions", "bench.ndjson")
	var whole, rest rounds
	for begun, n := time.Now(), 0; n == 0 || time.Since(begun).Seconds() < seconds; n++ {
		// The relay hints at most once a second.
		pause := time.NewTimer(1100 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		case <-pause.C:
		}
		text := fmt.Sprintf("letter %d of the length that people write when they have something to say", n)
		came := make(chan time.Time, 1)
		failed := make(chan error, 1)
		watch, stop := context.WithTimeout(ctx, 30*time.Second)
		go func() {
			if err := eventually(watch, func() (bool, error) { return hasTail(spool, text) }); err != nil {
				failed <- err
				return
			}
			came <- time.Now()
		}()
		at := time.Now()
		_, err := alice.do(ctx, "send", "--peer", "bob", text)
		sent := time.Now()
		if err != nil {
			stop()
			return err
		}
		select {
		case t := <-came:
			whole.each = append(whole.each, t.Sub(at))
			rest.each = append(rest.each, max(0, t.Sub(sent)))
		case err = <-failed:
		}
		stop()
		if err != nil {
			return fmt.Errorf("letter %d is not in the spool: %w", n, err)
		}
	}
	for _, line := range []struct {
		what, note string
		r          rounds
	}{
		{"from `agnt letter send` to the spool by push, one a second", "sender, server and follower are the shipped programs; the sender's start is in it", whole},
		{"the same, from the end of the sending program", "0 where the letter was in the spool before that", rest},
	} {
		slices.Sort(line.r.each)
		row := h.table.at(letterSection, line.what)
		row.add(colP50, line.r.quantile(.5)).add(colP99, line.r.quantile(.99))
		row.note = line.note
	}
	return nil
}

// lookEvery is how often a measurement looks at a file.
const lookEvery = 500 * time.Microsecond

func eventually(ctx context.Context, is func() (bool, error)) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// hasTail says whether a file ends in a whole line that contains text.
func hasTail(path, text string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	const most = 4 << 10
	b, err := io.ReadAll(io.NewSectionReader(f, max(0, st.Size()-most), most))
	return err == nil && bytes.HasSuffix(b, []byte("\n")) && bytes.Contains(b, []byte(text)), err
}
