package app_test

import (
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/judgetest"
)

// patience is the longest wait for one live effect on a busy machine.
const patience = 60 * time.Second

// The suites are those of the independent judge (decision 34), each against a
// server of its own.

func TestB1_JudgeGolden(t *testing.T) {
	t.Parallel()
	judgetest.RunGolden(t, judgetest.Target{BaseURL: apptest.New(t).URL, Patience: patience})
}

func TestB1_JudgeStockBridge(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	judgetest.RunStockBridgeTurn(t, judgetest.Target{BaseURL: s.URL, Patience: patience, Restart: s.Restart})
}

func TestP1_JudgeDesktopDay(t *testing.T) {
	t.Parallel()
	judgetest.RunDesktopDay(t, judgetest.Target{BaseURL: apptest.New(t).URL, Patience: patience})
}

func TestP3_JudgeTwoBrowsersFiveConnections(t *testing.T) {
	t.Parallel()
	judgetest.RunTwoBrowsersFiveConnections(t, judgetest.Target{BaseURL: apptest.New(t).URL, Patience: patience})
}

func TestP1_JudgeWakeRules(t *testing.T) {
	t.Parallel()
	judgetest.RunWakeRules(t, judgetest.Target{BaseURL: apptest.New(t).URL, Patience: patience})
}

// ready lists the suites of the gateway contract (issue 3, section 6.1) that
// the server passes. Whoever lands a handler adds its suites.
var ready = []string{
	"agent_queries",
	"approval_races",
	"bridge_asks",
	"bridge_durable_asks",
	"bridge_queries",
	"bridge_tasks",
	"bridge_toolkit",
	"catalogue",
	"catalogue_rules",
	"context",
	"credentials",
	"decisions",
	"dm",
	"external",
	"files",
	"files_desktop",
	"health",
	"huddles",
	"inbox_races",
	"mcp",
	"memory",
	"message_types",
	"owner_accounts",
	"permissions",
	"profile",
	"restarted",
	"scope_requests",
	"sdk_events",
	"soul",
	"task_fail",
	"task_life",
	"task_park",
	"task_plan",
	"task_races",
	"task_reattach",
	"task_requests",
	"task_rest",
	"task_stop",
	"task_subtasks",
	"telemetry",
}

func TestB1_JudgeGateway(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	judgetest.RunSuites(t, judgetest.Target{BaseURL: s.URL, Patience: patience, Restart: s.Restart}, ready)
}
