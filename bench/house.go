package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg/pgembed"
	"github.com/agntchat/agntchat/internal/secret"
)

// house is what the sections share: one Postgres with fsync on, in a folder of its
// own, and the shipped binary.
type house struct {
	dir, binary string
	rival       string // another build to compare with, or empty
	postgres    *pgembed.Server
	version     string
	crowd       *crowd
	quick       bool
	rounds      int
	table       *table
	databases   int
	begun       time.Time
	budget      time.Duration
	short       bool           // a section has had fewer rounds
	match       *regexp.Regexp // restricts the fan-out
	profile     string         // file for the server's CPU profile
}

// bootTimeout bounds the start of anything.
const bootTimeout = 60 * time.Second

func (h *house) open(ctx context.Context) error {
	var err error
	if h.postgres, err = pgembed.Start(context.WithoutCancel(ctx), pgembed.Options{DataDir: filepath.Join(h.dir, "data"), BinDir: os.Getenv("AGNTCHAT_PG_BINDIR")}); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, h.postgres.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, `SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)`).Scan(&h.version)
}

// database makes a migrated database, and tells its address.
func (h *house) database(ctx context.Context) (string, error) { return h.databaseOf(ctx, h.binary) }

// databaseOf is database by another build, whose migrations may be others.
func (h *house) databaseOf(ctx context.Context, binary string) (string, error) {
	conn, err := pgx.Connect(ctx, h.postgres.URL())
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	h.databases++
	name := fmt.Sprintf("bench_%d", h.databases)
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+name); err != nil {
		return "", err
	}
	address := withDatabase(h.postgres.URL(), name)
	cmd := exec.CommandContext(ctx, binary, "migrate", "up", "--direct")
	cmd.Env = append(os.Environ(), "DATABASE_URL="+address, "DATABASE_DIRECT_URL="+address)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("migrate: %w\n%s", err, out)
	}
	return address, nil
}

// withDatabase replaces the path of an address of the form postgres://…/name?….
func withDatabase(address, name string) string {
	base, query, _ := strings.Cut(address, "?")
	return base[:strings.LastIndexByte(base, '/')+1] + name + "?" + query
}

// socketOf takes an address of the embedded Postgres apart.
func socketOf(address string) (host, port, name string, err error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return "", "", "", err
	}
	return c.Host, strconv.Itoa(int(c.Port)), c.Database, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func isSocket(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&os.ModeSocket != 0
}

// server is one running agntchat.
type server struct {
	house         *house
	cmd           *exec.Cmd
	addr, metrics string
	log           bytes.Buffer
	ended         chan error
}

// serve starts the shipped binary on a database of its own. Only limits that stand
// against one client doing everything are raised: the rate of posts, the cost of
// a password, the quotas of the relay.
func (h *house) serve(ctx context.Context) (*server, string, error) {
	return h.serveBuild(ctx, h.binary)
}

func (h *house) serveBuild(ctx context.Context, binary string) (*server, string, error) {
	address, err := h.databaseOf(ctx, binary)
	if err != nil {
		return nil, "", err
	}
	s := &server{house: h, addr: freeAddr(), metrics: freeAddr(), ended: make(chan error, 1)}
	s.cmd = exec.Command(binary, "serve")
	s.cmd.Env = append(os.Environ(), "DATABASE_URL="+address, "DATABASE_DIRECT_URL="+address, "AGNTCHAT_ADDR="+s.addr, "AGNTCHAT_METRICS_ADDR="+s.metrics,
		"AGNTCHAT_PUBLIC_URL=http://"+s.addr, "AGNTCHAT_SECRET_KEY="+secret.Generate(), "AGNTCHAT_POST_PER_SECOND=1000000", "AGNTCHAT_POST_BURST=1000000",
		"AGNTCHAT_PASSWORD_MEMORY_KIB=8", "AGNTCHAT_PASSWORD_PASSES=1", "AGNTCHAT_LOG_LEVEL=WARN", "AGNTCHAT_DRAIN_TIMEOUT=3s",
		"AGNTCHAT_RELAY_RATE_LIMIT=0", "AGNTCHAT_RELAY_NEW_MAILBOXES=0", "AGNTCHAT_RELAY_MAX_MAILBOX=0", "AGNTCHAT_RELAY_MAX_MAILBOX_PER_SENDER=0", "AGNTCHAT_RELAY_MAX_MAILBOX_BYTES=0")
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		return nil, "", err
	}
	go func() { s.ended <- s.cmd.Wait() }()
	for deadline := time.Now().Add(bootTimeout); ; {
		resp, err := http.Get("http://" + s.addr + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, address, nil
			}
		}
		select {
		case err := <-s.ended:
			return nil, "", fmt.Errorf("agntchat serve ended: %w\n%s", err, s.log.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, "", fmt.Errorf("agntchat serve is not ready\n%s", s.log.String())
		}
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.ended:
		return err
	case <-time.After(15 * time.Second):
		return errors.Join(errors.New("agntchat did not stop"), s.cmd.Process.Kill(), <-s.ended)
	}
}

// cpu is what server and Postgres used while fn ran.
func (s *server) cpu(fn func() error) (own, postgres time.Duration, err error) {
	family := s.house.postgres.PID()
	own, postgres = cpuOf(s.pid()), cpuOfFamily(family)
	err = fn()
	return cpuOf(s.pid()) - own, cpuOfFamily(family) - postgres, err
}

// quiet waits until the server has nothing left to do.
func (s *server) quiet(most time.Duration) error {
	const look = 500 * time.Millisecond
	for deadline := time.Now().Add(most); time.Now().Before(deadline); {
		own, _, err := s.cpu(func() error { time.Sleep(look); return nil })
		if err != nil || own <= look/20 {
			return err
		}
	}
	return nil
}

// record writes a CPU profile of the next seconds to a file. The returned function
// waits for it.
func (s *server) record(file string, seconds int) (wait func() error) {
	done := make(chan error, 1)
	go func() {
		resp, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.metrics, seconds))
		if err != nil {
			done <- err
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err == nil {
			err = os.WriteFile(file, b, 0o644)
		}
		done <- err
	}()
	return func() error { return <-done }
}

// gauge reads one figure of /metrics.
func (s *server) gauge(name string) float64 {
	resp, err := http.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			f, _ := strconv.ParseFloat(strings.TrimSpace(v), 64)
			return f
		}
	}
	return 0
}

// call is one REST call; out may be nil.
func (s *server) call(method, path, token string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, "http://"+s.addr+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s answered %d: %.300s", method, path, resp.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()
	return l.Addr().String()
}
