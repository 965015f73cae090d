package httpapi_test

import (
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/wire"
)

// A tool process of a stock bridge knows the task, or says "current", and has no
// executor (bridge 5.3): it works through the plan all the same.
func TestT3_PlanByTheTaskAlone(t *testing.T) {
	t.Parallel()
	s := openGateway(t)
	ada := s.Person("Ada")
	bot, other := s.Agent(ada, "Nova"), s.Agent(ada, "Vela")
	room := s.Room("direct", ada, bot)
	ex := s.connect(bot, m{"device_name": "laptop", "bridge_version": "2.11.24"})
	made := as[wire.Task](t, s.do(ada, "POST", "/conversations/"+room.String()+"/tasks", m{
		"title": "boat", "assignedTo": []string{bot.ID.String()},
		"metadata": m{"execution_plan": m{"steps": []m{{"id": "wood", "title": "Get wood", "prompt": "Fetch it."}}}},
	}, 201))
	var row string
	find := func() bool {
		err := s.DB.QueryRow(t.Context(), `SELECT id::text FROM queued_tasks WHERE task_id = $1::uuid AND lease_until IS NOT NULL`, made.ID).Scan(&row)
		return err == nil
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !find() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the task was not claimed")
		}
	}
	at := "/gateway/tasks/"
	s.do(bot, "POST", at+"current/claim-step", m{"executor_id": nil}, 404) // nothing runs yet
	s.do(bot, "POST", at+row+"/accept", m{"executor_id": ex}, 200)
	got := as[wire.GatewayStepClaimed](t, s.do(bot, "POST", at+made.ID+"/claim-step", m{"executor_id": nil}, 200))
	if got.Step == nil || got.Step.ID != "wood" {
		t.Fatalf("%+v", got)
	}
	s.do(other, "POST", at+made.ID+"/claim-step", m{}, 404)
	s.do(other, "POST", at+"current/step-progress", m{"step_id": "wood", "status": "completed"}, 404)
	s.do(bot, "POST", at+"current/step-progress", m{"executor_id": ex, "step_id": "wood", "status": "completed"}, 200)
	s.do(bot, "POST", at+made.ID+"/extend-plan", m{"executor_id": ex, "steps": []m{{"id": "hull", "title": "Build"}}}, 200)
	if got = as[wire.GatewayStepClaimed](t, s.do(bot, "POST", at+row+"/claim-step", m{"executor_id": ex}, 200)); got.Step == nil || got.Step.ID != "hull" {
		t.Fatalf("%+v", got)
	}
	s.do(bot, "POST", at+"current/claim-step", m{"executor_id": "nobody"}, 422)
	s.do(bot, "POST", at+"nothing/claim-step", m{}, 404)
}
