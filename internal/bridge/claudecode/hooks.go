package claudecode

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/loopback"
)

// gatedTools are the CLI's tools that act on the machine or the network. The others
// read the working folder, or are refused by the CLI's own rules.
const gatedTools = "Bash|Edit|Write|NotebookEdit|WebFetch|WebSearch"

// hookPatience is how long the CLI waits for a hook. A hook that does not answer
// decides nothing: the CLI then asks on its pipe, where everything is refused.
const hookPatience = 150 * time.Second

// hookServer answers the CLI's PreToolUse hooks. The address carries a secret and
// stands only in files of mode 0600.
type hookServer struct {
	at *loopback.Server

	mu   sync.Mutex
	asks map[string]*asker // by conversation key
}

func startHooks() (*hookServer, error) {
	at, err := loopback.Listen("hooks")
	if err != nil {
		return nil, err
	}
	s := &hookServer{at: at, asks: map[string]*asker{}}
	at.Serve(s)
	return s, nil
}

// settings is the CLI's settings with the hook of one conversation.
func (s *hookServer) settings(key string) ([]byte, error) {
	hook := map[string]any{"type": "http", "url": s.at.URL("/" + s.at.Secret() + "/" + key), "timeout": int(hookPatience.Seconds())}
	return json.Marshal(map[string]any{
		"workflowKeywordTriggerEnabled": false,
		"hooks":                         map[string]any{"PreToolUse": []any{map[string]any{"matcher": gatedTools, "hooks": []any{hook}}}},
	})
}

// bind lets an asker answer for a conversation until unbind is called.
func (s *hookServer) bind(key string, a *asker) (unbind func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks[key] = a
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asks, key)
	}
}

// ServeHTTP answers one hook. What it cannot answer it denies.
func (s *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secret, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !s.at.Knows(secret) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var in hookInput
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	s.mu.Lock()
	a := s.asks[key]
	s.mu.Unlock()
	out := hookDeny("No turn is running; tools can be used only while answering.")
	if err == nil && json.Unmarshal(raw, &in) == nil && in.Event == "PreToolUse" && a != nil {
		ctx, cancel := context.WithTimeout(r.Context(), hookPatience-10*time.Second)
		defer cancel()
		out = a.answer(ctx, in)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

// hookInput is what the CLI tells a PreToolUse hook; only what is read here.
type hookInput struct {
	Event     string          `json:"hook_event_name"`
	SessionID string          `json:"session_id"`
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`
}

// hookOutput is a hook's answer; without a decision the CLI's own rules decide.
type hookOutput struct {
	Specific *hookDecision `json:"hookSpecificOutput,omitempty"`
}

type hookDecision struct {
	Event    string          `json:"hookEventName"`
	Decision string          `json:"permissionDecision"` // allow | deny | defer
	Reason   string          `json:"permissionDecisionReason,omitempty"`
	Input    json.RawMessage `json:"updatedInput,omitempty"`
}

func hookSays(decision, reason string, input json.RawMessage) hookOutput {
	return hookOutput{&hookDecision{"PreToolUse", decision, reason, input}}
}

func hookDeny(reason string) hookOutput { return hookSays("deny", reason, nil) }

// asker takes the gated calls of one run to its gate, one after the other.
type asker struct {
	gate backend.Gate

	mu       sync.Mutex
	deferred string // the call at which this run stops
	several  bool   // another call was refused beside it
}

const oneAtATime = "One gated call at a time: another call of this message waits for an approval. Ask again when it is decided."

func (a *asker) answer(ctx context.Context, in hookInput) hookOutput {
	if in.ToolName == "Bash" && harmless(in.ToolInput) {
		return hookOutput{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.deferred != "" && a.deferred != in.ToolUseID {
		a.several = true
		return hookDeny(oneAtATime)
	}
	v := a.gate.Ask(ctx, backend.GatedCall{RunID: in.SessionID, CallID: in.ToolUseID, Tool: in.ToolName, Input: in.ToolInput, Reason: said(in.ToolInput)})
	switch v.Decision {
	case backend.Allow:
		return hookSays("allow", "approved", v.Input)
	case backend.Defer:
		a.deferred = in.ToolUseID
		return hookSays("defer", "It waits for an approval.", nil)
	default:
		return hookDeny(v.Text)
	}
}

// refused says that another call was refused beside the one that waits.
func (a *asker) refused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.several
}

// said is the model's own word for the call: Bash has one.
func said(input json.RawMessage) string {
	var in struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(input, &in)
	return in.Description
}

// lookers are commands that show something and change nothing, whatever their
// arguments are. Whether they may run at all is for the CLI's own rules.
var lookers = map[string]bool{"ls": true, "pwd": true, "cat": true, "head": true, "tail": true, "wc": true, "stat": true, "whoami": true, "uname": true, "grep": true}

// harmless tells a single plain command of lookers. Anything that a shell would
// interpret is not.
func harmless(input json.RawMessage) bool {
	var in map[string]json.RawMessage
	var command string
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(in["command"], &command) != nil {
		return false
	}
	for k := range in {
		if k != "command" && k != "description" && k != "timeout" {
			return false
		}
	}
	if strings.ContainsAny(command, "`$;&|<>(){}[]\\\"'!#~*?=\r\n") {
		return false
	}
	words := strings.Fields(command)
	return len(words) > 0 && lookers[words[0]]
}
