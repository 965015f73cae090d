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
	var told sync.Once
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
		case req.Method == "notifications/initialized" && info.Notices != nil:
			told.Do(func() { s.wg.Go(func() { s.tell(ctx, info) }) })
			continue
		case req.Method == "logging/setLevel" && info.Notices != nil && len(req.ID) > 0:
			s.listen(req.Params)
			if err := s.send(frame(req.ID, answer{result: map[string]any{}})); err != nil {
				return err
			}
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
	deaf    bool                          // the client wants graver messages only
	running map[string]context.CancelFunc // by the request's id as it was written
}

// tell passes notices on, as messages of level info, until ctx ends.
func (s *stdio) tell(ctx context.Context, info Info) {
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-info.Notices:
			s.mu.Lock()
			deaf := s.deaf
			s.mu.Unlock()
			if deaf {
				continue
			}
			params := map[string]any{"level": "info", "logger": info.Name, "data": text}
			if s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/message", "params": params}) != nil {
				return
			}
		}
	}
}

// listen takes the least level that the client wants to hear of (MCP, logging/setLevel).
func (s *stdio) listen(params json.RawMessage) {
	var p struct {
		Level string `json:"level"`
	}
	_ = json.Unmarshal(params, &p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = p.Level != "" && p.Level != "debug" && p.Level != "info"
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
