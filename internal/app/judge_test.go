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

// TestB1_JudgeGateway plays every endpoint and event of the gateway contract, sections
// 2 to 5 and 8.
func TestB1_JudgeGateway(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	judgetest.RunSuites(t, judgetest.Target{BaseURL: s.URL, Patience: patience, Restart: s.Restart})
}
