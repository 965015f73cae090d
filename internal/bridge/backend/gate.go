package backend

import (
	"context"
	"encoding/json"
)

// Gate decides over calls of a CLI's own tools before they run (row S1). Calls of
// one run come one after another or at once; the answer is never "run anyway".
type Gate interface {
	// Ask may block for as long as a request to the server takes, never for a person.
	Ask(ctx context.Context, c GatedCall) Verdict
}

// GatedCall is one call that needs an approval.
type GatedCall struct {
	RunID  string          // the CLI's session: it has at most one open call
	CallID string          // the CLI's name of the call
	Tool   string          // the tool as the CLI names it
	Input  json.RawMessage // exactly what would run, a JSON object
	Reason string          // what the model says it is for; may be empty
}

// Decision is what is to be done with a gated call.
type Decision int

// Decisions. The zero value denies.
const (
	Deny  Decision = iota
	Allow          // it runs once, now
	Defer          // people are asked: the run ends and is resumed by their decision
)

// Verdict answers a gated call.
type Verdict struct {
	Decision Decision
	Input    json.RawMessage // with Allow: what runs instead; nil is what was asked
	Text     string          // with Deny: what the model is told
}

// Approval is a decision over the call for which a run ended.
type Approval struct {
	RunID, CallID, Tool string
	Input               json.RawMessage // what may run, as approved or edited
	Allowed             bool
	Edited              bool
	Text                string // what the person said
}

// Resumer is a backend whose runs can wait for people without a living process.
type Resumer interface {
	// Resume goes on with the run that ended for this call. The turn's Gate answers
	// the call when it comes again; the turn needs no input. It is as Run otherwise.
	Resume(ctx context.Context, t Turn, a Approval, emit func(Event)) (Result, error)
}
