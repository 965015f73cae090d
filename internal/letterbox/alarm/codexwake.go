package alarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/coder/websocket"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// wakeBudget is how long a wake over the control socket may take in all (contract letters 5.3).
const wakeBudget = 3 * time.Second

// maxFrame bounds a message of the app-server.
const maxFrame = 4 << 20

// errStandDown is a session that must not be woken: it is busy, or it is not clear which one it is.
var errStandDown = errors.New("not woken")

// controlSocket is where a Codex app-server listens.
func controlSocket(codexHome string) string {
	return filepath.Join(codexHome, "app-server-control", "app-server-control.sock")
}

// nudgeCodex starts a turn with a fixed text in an idle Codex, under the conditions of contract letters 5.3: the app-server answers, exactly one thread is
// loaded, it is idle, and it is the session itself. It blocks at most wakeBudget. Errors: errStandDown, or that nobody answers; either way nothing was started.
func nudgeCodex(ctx context.Context, codexHome, session, text string) error {
	ctx, cancel := context.WithTimeout(ctx, wakeBudget)
	defer cancel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", controlSocket(codexHome))
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	conn, res, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, CompressionMode: websocket.CompressionDisabled})
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	if err != nil {
		return fmt.Errorf("reach codex: %w", err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxFrame)
	c := &appServer{conn: conn}
	if err := c.call(ctx, "initialize", map[string]any{"clientInfo": map[string]any{"name": "agnt-letters", "version": "1"}}, nil); err != nil {
		return err
	}
	if err := c.write(ctx, map[string]any{"method": "initialized", "params": map[string]any{}}); err != nil {
		return err
	}
	var loaded struct {
		Data []string `json:"data"`
		Next *string  `json:"nextCursor"`
	}
	if err := c.call(ctx, "thread/loaded/list", map[string]any{}, &loaded); err != nil {
		return err
	}
	if len(loaded.Data) != 1 || loaded.Next != nil && *loaded.Next != "" || loaded.Data[0] != session {
		return fmt.Errorf("%w: %d threads are loaded, or another one", errStandDown, len(loaded.Data))
	}
	var read struct {
		Thread struct {
			Status struct {
				Type string `json:"type"`
			} `json:"status"`
		} `json:"thread"`
	}
	if err := c.call(ctx, "thread/read", map[string]any{"threadId": session}, &read); err != nil {
		return err
	}
	if read.Thread.Status.Type != "idle" {
		return fmt.Errorf("%w: the thread is not idle", errStandDown)
	}
	return c.call(ctx, "turn/start", map[string]any{"threadId": session, "input": []any{map[string]any{"type": "text", "text": text}}}, nil)
}

// appServer is a connection to Codex' app-server: one JSON-RPC message a frame, without the jsonrpc member.
type appServer struct {
	conn *websocket.Conn
	next int
}

func (c *appServer) write(ctx context.Context, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode call: %w", err)
	}
	if err := c.conn.Write(ctx, websocket.MessageText, raw); err != nil {
		return fmt.Errorf("write to codex: %w", err)
	}
	return nil
}

// call makes one call and waits for its answer; what else comes is passed over.
func (c *appServer) call(ctx context.Context, method string, params, into any) error {
	c.next++
	if err := c.write(ctx, map[string]any{"id": c.next, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		_, raw, err := c.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read from codex: %w", err)
		}
		var m struct {
			ID     *int            `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code int `json:"code"`
			} `json:"error"`
		}
		if json.Unmarshal(raw, &m) != nil || m.Method != "" || m.ID == nil || *m.ID != c.next {
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("codex refused %s with %d", method, m.Error.Code)
		}
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, into); err != nil {
			return fmt.Errorf("read answer of codex: %w", err)
		}
		return nil
	}
}

// wakeMark is what `.codex-wake-state.json` says of the session's spool: how large it was when its Codex was last woken (contract letters 5.3). It is shared with other programs that wake
// over the socket.
type wakeMark struct {
	path  string // of the file
	spool string
	due   bool // a wake is due: there was none, the spool began anew, or what was there at the last one has been read
}

func (d *Desk) wakeMark() (wakeMark, error) {
	m := wakeMark{path: filepath.Join(d.user.Sessions(), ".codex-wake-state.json")}
	var err error
	if m.spool, err = d.user.Spool(d.session, spool.Messages); err != nil {
		return m, err
	}
	marks := map[string]int64{}
	readJSON(m.path, &marks)
	mark, woken := marks[m.spool]
	cursors := map[string]struct {
		Offset int64 `json:"offset"`
	}{}
	readJSON(filepath.Join(d.user.Sessions(), ".codex-hook-state.json"), &cursors)
	st, err := os.Stat(m.spool)
	if err != nil {
		return m, fmt.Errorf("look at spool: %w", err)
	}
	m.due = !woken || st.Size() < mark || cursors[m.spool].Offset >= mark
	return m, nil
}

// set marks the spool as it is now.
func (m wakeMark) set(ctx context.Context) error {
	lock, err := lockfile.Open(ctx, m.path+".lock", true) // other sessions of the user have a watcher too
	if err != nil {
		return fmt.Errorf("mark wake: %w", err)
	}
	defer func() { _ = lock.Close() }()
	st, err := os.Stat(m.spool)
	if err != nil {
		return fmt.Errorf("look at spool: %w", err)
	}
	marks := map[string]int64{}
	readJSON(m.path, &marks)
	marks[m.spool] = st.Size()
	raw, err := json.Marshal(marks)
	if err != nil {
		return fmt.Errorf("encode mark: %w", err)
	}
	if err := lockfile.Replace(m.path, raw); err != nil {
		return fmt.Errorf("write mark: %w", err)
	}
	return nil
}

// readJSON leaves v as it is for a file that is damaged or not there.
func readJSON(name string, v any) {
	if raw, err := os.ReadFile(name); err == nil {
		_ = json.Unmarshal(raw, v)
	}
}
