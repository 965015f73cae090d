package task

import "strings"

// Failure is a reason of the closed list. Only transient ones are tried again.
type Failure struct {
	Code      string
	Origin    string // platform | tool
	Transient bool
}

// The codes of failures (docs/tasks.md). Platform means that the place failed, tool
// that the agent's own side did.
const (
	CodeAgentFailed  = "agent_failed" // the agent said that it cannot be done
	CodeExecutorLost = "executor_lost"
	CodeAttempts     = "attempts_exhausted"
	CodeAskExpired   = "ask_expired"
	CodeDependency   = "dependency_failed"
	CodeSubtasks     = "subtasks_failed"
	CodeAgentOff     = "agent_off"
	CodeCleared      = "cleared_by_owner"
	CodeUndelivered  = "undeliverable"
	CodeDirectives   = "directives_unavailable"
	CodeTimeout      = "timeout"
	CodeKilled       = "killed"
)

var failures = map[string]Failure{
	CodeExecutorLost: {CodeExecutorLost, "platform", true}, CodeAttempts: {CodeAttempts, "platform", false}, CodeAskExpired: {CodeAskExpired, "platform", false},
	CodeDependency: {CodeDependency, "platform", false}, CodeSubtasks: {CodeSubtasks, "platform", false}, CodeAgentOff: {CodeAgentOff, "platform", false},
	CodeCleared: {CodeCleared, "platform", false}, CodeUndelivered: {CodeUndelivered, "platform", false}, CodeDirectives: {CodeDirectives, "platform", true},
	CodeAgentFailed: {CodeAgentFailed, "tool", false}, CodeTimeout: {CodeTimeout, "tool", false}, CodeKilled: {CodeKilled, "tool", true},
	"auth_failure": {"auth_failure", "tool", false}, "rate_limited": {"rate_limited", "tool", true}, "empty_response": {"empty_response", "tool", true},
	"backend_missing": {"backend_missing", "tool", false}, "model_error": {"model_error", "tool", true}, "handler_exception": {"handler_exception", "tool", false},
}

// FailureOf finds a code; an unknown one is agent_failed.
func FailureOf(code string) Failure {
	if f, ok := failures[code]; ok {
		return f
	}
	return failures[CodeAgentFailed]
}

// FailureCodes is the closed list.
func FailureCodes() []string {
	out := make([]string, 0, len(failures))
	for c := range failures {
		out = append(out, c)
	}
	return out
}

// ReadFailure finds the code in the text of a stock bridge (bridge contract 2.8.1),
// which knows no codes.
func ReadFailure(text string) Failure {
	low := strings.ToLower(text)
	switch {
	case strings.HasPrefix(low, CodeDirectives):
		return failures[CodeDirectives]
	case strings.Contains(low, "restart") && strings.Contains(low, "interrupted"):
		return failures[CodeKilled]
	case strings.Contains(low, "timed out"), strings.Contains(low, "time limit"), strings.Contains(low, "timeout"):
		return failures[CodeTimeout]
	case strings.Contains(low, "rate limit"), strings.Contains(low, "usage limit"):
		return failures["rate_limited"]
	case strings.Contains(low, "authentication"), strings.Contains(low, "not logged in"):
		return failures["auth_failure"]
	}
	return failures[CodeAgentFailed]
}
