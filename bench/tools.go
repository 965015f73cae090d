package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
)

// directives measures how long it takes to say what an agent is told, in this
// process and without a database: the part of a turn that grows with its soul.
func (h *house) directives(context.Context) error {
	ops := 20_000
	if h.quick {
		ops = 2_000
	}
	f := directive.Facts{
		Agent:   directive.Agent{Name: "Nova", Role: "Answers questions about ships", Type: "worker", OwnerName: "Ada", SystemPrompt: strings.Repeat("Be brief. ", 50)},
		Room:    directive.Room{Type: "group", Title: "Harbour"},
		Trigger: directive.Speaker{Name: "Ada", Kind: "human"}, Now: time.Now(),
	}
	for n := range 20 {
		f.Room.Members = append(f.Room.Members, directive.Member{Name: fmt.Sprintf("Member %d", n), Kind: "human"})
	}
	for round := 0; h.again(round); round++ {
		for _, kib := range []int{1, 100} {
			f.Agent.Soul = strings.Repeat("I am curious about ships.\n", kib*1024/26)
			begun, before := time.Now(), cpuOf(os.Getpid())
			for range ops {
				directive.Compute(f)
			}
			h.table.at("directive", fmt.Sprintf("assembly, soul of %d KiB", kib)).add(colRate, float64(ops)/time.Since(begun).Seconds()).add(colCPU, micros(cpuOf(os.Getpid())-before, int64(ops)))
		}
	}
	return nil
}

// dispatch measures what a tool call costs beside the tool: a tool that does
// nothing, with and without a turn behind it, against one statement.
func (h *house) dispatch(ctx context.Context) (err error) {
	s, address, err := h.serve(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	ada, err := s.signUp("Ada")
	if err != nil {
		return err
	}
	bot, err := s.agent(ada, "Nova", 1)
	if err != nil {
		return err
	}
	room, err := s.room(ada, "direct", bot)
	if err != nil {
		return err
	}
	db, err := pg.Open(ctx, pg.Config{URL: address, DirectURL: address, MaxConns: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer db.Close()
	tools, err := flow.NewTools(db, slog.New(slog.DiscardHandler), flow.Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{Name: "nothing", Description: "does nothing", Category: "bench", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)},
			Limits:     tool.Limits{PerMinute: 1 << 30},
		},
		Handle: func(context.Context, flow.ToolCaller, flow.ToolArgs) (flow.ToolResult, error) {
			return flow.ToolResult{Text: "ok"}, nil
		},
	})
	if err != nil {
		return err
	}
	agent, err := id.Parse[id.Participant](bot.ID)
	if err != nil {
		return err
	}
	owner, err := id.Parse[id.Participant](ada.ID)
	if err != nil {
		return err
	}
	actor := access.Actor{Kind: access.Agent, ID: agent, OwnerID: owner}
	ops := 1000
	if h.quick {
		ops = 200
	}
	lines := []struct {
		what string
		run  func() error
	}{
		{"one statement", func() error { _, err := db.Exec(ctx, `SELECT 1`); return err }},
		{"a call by itself", func() error { return callNothing(ctx, tools, actor, "") }},
		{"a call of a room", func() error { return callNothing(ctx, tools, actor, room) }},
	}
	for round := 0; h.again(round); round++ {
		for _, l := range lines {
			var took []float64
			begun, before, pgBefore := time.Now(), cpuOf(os.Getpid()), cpuOfFamily(h.postgres.PID())
			for range ops {
				one := time.Now()
				if err := l.run(); err != nil {
					return err
				}
				took = append(took, float64(time.Since(one).Microseconds())/1000)
			}
			slices.Sort(took)
			h.table.at("dispatch", l.what).add(colRate, float64(ops)/time.Since(begun).Seconds()).add(colP50, took[ops/2]).add(colP99, took[ops*99/100]).
				add(colCPU, micros(cpuOf(os.Getpid())-before, int64(ops))).add(colPG, micros(cpuOfFamily(h.postgres.PID())-pgBefore, int64(ops)))
		}
	}
	for _, l := range lines[1:] {
		r := h.table.at("dispatch", l.what)
		r.add(colRatio, r.median(colP50)/h.table.at("dispatch", lines[0].what).median(colP50))
		r.note = "ratio: to one statement"
	}
	return nil
}

func callNothing(ctx context.Context, tools *flow.Tools, actor access.Actor, room string) error {
	out, err := tools.Call(ctx, actor, flow.ToolCall{Name: "nothing", Args: json.RawMessage(`{"a":"x"}`), ConversationID: room})
	if err == nil && out.Refused != nil {
		err = out.Refused
	}
	return err
}
