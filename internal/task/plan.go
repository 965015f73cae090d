package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// StepStatus is the state of a plan's step (bridge contract 2.8).
type StepStatus string

// The states of a step.
const (
	StepPending    StepStatus = "pending"
	StepInProgress StepStatus = "in_progress"
	StepCompleted  StepStatus = "completed"
	StepFailed     StepStatus = "failed"
	StepSkipped    StepStatus = "skipped"
)

// Step is one step of a plan. Key is the id that its author gave it.
type Step struct {
	TaskID    id.Task
	Key       string
	Position  int
	Title     string
	Prompt    string
	DependsOn []string
	Status    StepStatus
	Result    json.RawMessage
	StartedAt *time.Time
	EndedAt   *time.Time
}

// Over reports a step that is not done any more.
func (s Step) Over() bool {
	return s.Status == StepCompleted || s.Status == StepFailed || s.Status == StepSkipped
}

// Steps is the plan of a task in order; the task is locked by who changes it.
func Steps(ctx context.Context, q pg.Querier, t id.Task) ([]Step, error) {
	return pg.Rows[Step](ctx, q, "read plan", sqlSteps, t)
}

var errPlan = fault.New(fault.Invalid, "invalid_plan", "This plan cannot be carried out.")

// CheckPlan refuses steps without words, a key that is there twice, a dependency on a
// step that does not exist, and circles.
func CheckPlan(have, add []Step) error {
	if len(have)+len(add) > MaxSteps {
		return errPlan.With("steps", "too_many", fmt.Sprintf("at most %d steps", MaxSteps))
	}
	deps := map[string][]string{}
	for _, s := range have {
		deps[s.Key] = s.DependsOn
	}
	for _, s := range add {
		_, twice := deps[s.Key]
		switch {
		case s.Key == "" || len(s.Key) > 100:
			return errPlan.With("steps.id", "required", "every step needs an id of at most 100 bytes")
		case twice:
			return errPlan.With("steps.id", "twice", "the id "+s.Key+" is there twice")
		case s.Prompt == "" || s.Title == "":
			return errPlan.With("steps.prompt", "required", "every step needs a title and a prompt")
		case len(s.Title) > 500 || len(s.Prompt) > 30_000:
			return errPlan.With("steps.prompt", "too_long", "a title may have 500 bytes and a prompt 30000")
		}
		deps[s.Key] = s.DependsOn
	}
	done := map[string]int{} // 1 = being walked, 2 = sound
	var walk func(string) error
	walk = func(k string) error {
		d, ok := deps[k]
		switch {
		case !ok:
			return errPlan.With("steps.depends_on", "unknown", "there is no step "+k)
		case done[k] == 1:
			return errPlan.With("steps.depends_on", "circle", "the step "+k+" depends on itself")
		case done[k] == 2:
			return nil
		}
		done[k] = 1
		for _, x := range d {
			if err := walk(x); err != nil {
				return err
			}
		}
		done[k] = 2
		return nil
	}
	for k := range deps {
		if err := walk(k); err != nil {
			return err
		}
	}
	return nil
}

// AddStepsTx appends steps that CheckPlan has passed.
func AddStepsTx(ctx context.Context, tx *pg.Tx, t id.Task, add []Step) error {
	for _, s := range add {
		deps := s.DependsOn
		if deps == nil {
			deps = []string{}
		}
		if _, err := tx.Exec(ctx, sqlAddStep, t, s.Key, s.Title, s.Prompt, deps); err != nil {
			return fmt.Errorf("add step: %w", err)
		}
	}
	return nil
}

// SetStepTx changes the state of a step.
func SetStepTx(ctx context.Context, tx *pg.Tx, t id.Task, key string, s StepStatus, result json.RawMessage) error {
	if _, err := tx.Exec(ctx, sqlSetStep, t, key, string(s), jsonb(result)); err != nil {
		return fmt.Errorf("set step: %w", err)
	}
	return nil
}

// ReopenStepsTx offers steps again whose run is gone.
func ReopenStepsTx(ctx context.Context, tx *pg.Tx, t id.Task) error {
	if _, err := tx.Exec(ctx, sqlReopenSteps, t); err != nil {
		return fmt.Errorf("reopen steps: %w", err)
	}
	return nil
}

// StepsRun reports that a step is being worked on.
func StepsRun(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Status == StepInProgress })
}

// NextStep is the step to run now: with again the one that was begun, else the first
// whose dependencies are completed. Skip lists steps that cannot be run any more
// because one that they depend on failed or was skipped.
func NextStep(steps []Step, again bool) (next *Step, skip []string) {
	state := map[string]StepStatus{}
	for _, s := range steps {
		state[s.Key] = s.Status
	}
	for changed := true; changed; {
		changed = false
		for _, s := range steps {
			if state[s.Key] == StepPending && slices.ContainsFunc(s.DependsOn, func(d string) bool { return state[d] == StepFailed || state[d] == StepSkipped }) {
				state[s.Key], changed = StepSkipped, true
				skip = append(skip, s.Key)
			}
		}
	}
	for n, s := range steps {
		if again && s.Status == StepInProgress {
			return &steps[n], skip
		}
	}
	for n, s := range steps {
		if state[s.Key] == StepPending && !slices.ContainsFunc(s.DependsOn, func(d string) bool { return state[d] != StepCompleted }) {
			return &steps[n], skip
		}
	}
	return nil, skip
}
