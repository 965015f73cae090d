package mcpserve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// maxLine bounds a message on standard input, maxCalls the calls that run at once.
const (
	maxLine  = 8 << 20
	maxCalls = 8
)

// ErrLongLine is a message of more than 8 MiB: what follows it cannot be told apart any more.
var ErrLongLine = errors.New("a message is longer than 8 MiB")

// Stdio offers tools over standard input and output, one JSON-RPC message a line (MCP, stdio transport), until the input or ctx ends. A call that the
// client cancels has its context ended and is not answered. Calls that still run at the end are ended and waited for. It reads in until it
// ends, so a ctx that ends takes effect with the next line.
func Stdio(ctx context.Context, in io.Reader, out io.Writer, info Info, tools []backend.Tool, call func(ctx context.Context, name string, args json.RawMessage) backend.ToolResult) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &stdio{out: out, running: map[string]context.CancelFunc{}}
	slots := make(chan struct{}, maxCalls)
	defer s.wg.Wait()
	defer cancel()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for ctx.Err() == nil && lines.Scan() {
		var req request
		if json.Unmarshal(lines.Bytes(), &req) != nil || req.Method == "" && len(req.ID) == 0 {
			if err := s.send(frame(nil, answer{code: -32700, message: "this is no single JSON-RPC request"})); err != nil {
				return err
			}
			continue
		}
		switch {
		case req.Method == "notifications/cancelled":
			s.cancel(req.Params)
			continue
		case req.Method == "" || len(req.ID) == 0: // an answer, or another notification
			continue
		case req.Method != "tools/call":
			if err := s.send(frame(req.ID, respond(ctx, req, info, func() []backend.Tool { return tools }, call))); err != nil {
				return err
			}
			continue
		}
		one, end := context.WithCancel(ctx)
		s.begin(string(req.ID), end)
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			end()
			return ctx.Err()
		}
		s.wg.Go(func() {
			a := respond(one, req, info, nil, call)
			<-slots
			if s.end(string(req.ID)) {
				_ = s.send(frame(req.ID, a))
			}
			end()
		})
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return ErrLongLine
	} else if err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	return ctx.Err()
}

type stdio struct {
	wg sync.WaitGroup

	mu      sync.Mutex
	out     io.Writer
	running map[string]context.CancelFunc // by the request's id as it was written
}

func (s *stdio) begin(id string, end context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = end
}

// end says whether the call is still wanted.
func (s *stdio) end(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wanted := s.running[id]
	delete(s.running, id)
	return wanted
}

func (s *stdio) cancel(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.running[string(p.ID)]; end != nil {
		end()
		delete(s.running, string(p.ID))
	}
}

// send writes one message whole.
func (s *stdio) send(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}
