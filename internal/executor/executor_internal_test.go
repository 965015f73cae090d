package executor

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

func TestM2_StatementsPlan(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{queryLockByKey, queryRegister, queryBeat, queryLock, queryGet, queryByAgent, queryOnline, querySetStatus, queryTouch, querySilent} {
		pgtest.Plan(t, sql)
	}
}

func agentRow(t *testing.T, tx *pg.Tx) id.Participant {
	t.Helper()
	owner, agent, org := id.New[id.Participant](), id.New[id.Participant](), id.New[id.Organization]()
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO participants (id, kind, display_name) VALUES ($1::uuid, 'human', 'Ada'), ($2::uuid, 'agent', 'Nova')`, []any{owner, agent}},
		{`INSERT INTO accounts (id, email) VALUES ($1::uuid, $2::text)`, []any{owner, owner.String() + "@example.com"}},
		{`INSERT INTO organizations (id, name, is_personal, owner_id) VALUES ($1::uuid, 'P', true, $2::uuid)`, []any{org, owner}},
		{`INSERT INTO agents (id, owner_id, organization_id, key_prefix, key_hash) VALUES ($1::uuid, $2::uuid, $3::uuid, $4::text, '\x00'::bytea)`, []any{agent, owner, org, agent.String()}},
	} {
		if _, err := tx.Exec(t.Context(), s.sql, s.args...); err != nil {
			t.Fatal(err)
		}
	}
	return agent
}

// Row B3: the id belongs to (agent, key) for ever.
func TestB3_RegistrationKeepsTheID(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	agent := agentRow(t, tx)
	in := Registration{
		AgentID: agent, Key: "k", InstanceID: "i-1", MaxConcurrent: 1000, DisplayName: "a\x00b", Capabilities: []string{"x\x00"},
		Metadata: json.RawMessage(`{"a":"\u0000"}`), BackendHealth: json.RawMessage(`[1]`),
	}
	first, before, err := RegisterTx(t.Context(), tx, in)
	if err != nil || before != nil || first.MaxConcurrent != MaxSlots || first.DisplayName != "ab" {
		t.Fatalf("%+v, %v, %v", first, before, err)
	}
	in.InstanceID, in.MaxConcurrent = "i-2", 0
	again, before, err := RegisterTx(t.Context(), tx, in)
	if err != nil || again.ID != first.ID || before == nil || before.InstanceID != "i-1" || again.MaxConcurrent != 1 {
		t.Fatalf("%+v, %v, %v", again, before, err)
	}
	in.Key = "other"
	if other, _, err := RegisterTx(t.Context(), tx, in); err != nil || other.ID == first.ID {
		t.Fatalf("%+v, %v", other, err)
	}
	if list, err := ByAgent(t.Context(), tx, agent); err != nil || len(list) != 2 {
		t.Fatalf("%d, %v", len(list), err)
	}
	for _, bad := range []Registration{{}, {Key: string(make([]byte, 300))}, {Key: "k", Metadata: make([]byte, 1<<17)}} {
		if _, _, err := RegisterTx(t.Context(), tx, bad); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v", err)
		}
	}
}

// TestB3_TheLivingAreListed: a bridge that comes under a new key each time does not push
// the one that works now out of the list.
func TestB3_TheLivingAreListed(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	agent := agentRow(t, tx)
	if _, err := tx.Exec(t.Context(), `INSERT INTO executors (agent_id, executor_key, status, last_seen_at, inserted_at)
		SELECT $1::uuid, 'old-' || n, 'offline', now() - interval '1 day', now() - interval '1 day' FROM generate_series(1, 300) n`, agent); err != nil {
		t.Fatal(err)
	}
	now, _, err := RegisterTx(t.Context(), tx, Registration{AgentID: agent, Key: "new", InstanceID: "i"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := ByAgent(t.Context(), tx, agent)
	if err != nil || len(list) != 200 || list[199].ID != now.ID {
		t.Errorf("%d listed, the last of them %s: %v", len(list), list[len(list)-1].Key, err)
	}
}

func TestB3_HeartbeatRevivesAndDisabledStaysDead(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	agent := agentRow(t, tx)
	e, _, err := RegisterTx(t.Context(), tx, Registration{AgentID: agent, Key: "k", BridgeVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := SilentTx(t.Context(), tx, e.ID, time.Hour); err != nil || gone {
		t.Fatalf("just heard of: %v, %v", gone, err)
	}
	if err := SetStatusTx(t.Context(), tx, e.ID, Offline); err != nil {
		t.Fatal(err)
	}
	e, err = BeatTx(t.Context(), tx, agent, e.ID, Beat{Metrics: json.RawMessage(`{"pid":1}`), BackendHealth: json.RawMessage(`{"status":"ok"}`)})
	if err != nil || e.Status != Online || e.BridgeVersion != "1" || string(e.Metrics) != `{"pid": 1}` {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err = BeatTx(t.Context(), tx, agent, e.ID, Beat{}); err != nil {
		t.Fatal(err)
	}
	if e, err = Get(t.Context(), tx, agent, e.ID); err != nil || string(e.BackendHealth) != `{"status": "ok"}` {
		t.Fatalf("a beat without health: %+v, %v", e, err)
	}
	if err := SetStatusTx(t.Context(), tx, e.ID, Disabled); err != nil {
		t.Fatal(err)
	}
	if _, err = BeatTx(t.Context(), tx, agent, e.ID, Beat{}); !errors.Is(err, ErrUnknown) {
		t.Fatalf("disabled: %v", err)
	}
	if _, err = Get(t.Context(), tx, id.New[id.Participant](), e.ID); !errors.Is(err, ErrUnknown) {
		t.Fatalf("another agent: %v", err)
	}
}
