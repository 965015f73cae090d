package app_test

import (
	"slices"
	"strings"
	"testing"
)

type namedPerson struct{ ID, DisplayName string }

type pastDecision struct {
	Kind, ID, SourceID, Outcome           string
	DecidedBy                             *namedPerson
	Agent                                 namedPerson
	ConversationID, ConversationTitle     *string
	TaskID                                *string
	EndedAt, Title, Description, Question string
	Answer, Label, Endpoint, Fingerprint  *string
	ParticipantType                       string
	Options                               []string
	TakenAway                             bool
	Uses, Used, TokensPerDay, RaisedTo    *int64
	Request                               *struct{ Action, DecisionText, AgentName string }
	Grant                                 *struct {
		ID        string
		Uses      int64
		RevokedAt *string
	}
}

type pastPage struct {
	Decisions []pastDecision
	Next      *string
}

func (w *deskWorld) past(query string) (page pastPage) {
	w.t.Helper()
	w.call(w.owner, "GET", "/api/me/decisions?state=decided"+query, nil, 200, &page)
	return page
}

func (w *deskWorld) exec(sql string, args ...any) (out string) {
	w.t.Helper()
	if err := w.s.DB.QueryRow(w.t.Context(), sql, args...).Scan(&out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *deskWorld) ask(command string) permission {
	w.t.Helper()
	var p permission
	w.call(w.agent, "POST", "/api/agent/permission-requests", map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": command}, "conversationId": w.room}, 200, &p)
	return p
}

func (w *deskWorld) secret(label string) string {
	w.t.Helper()
	return w.exec(`INSERT INTO credential_requests (organization_id, agent_id, owner_id, conversation_id, label, reason, endpoint, auth_mode, expires_at)
		SELECT organization_id, id, owner_id, $2::uuid, $3, 'To look for rain', 'https://api.example.com', 'bearer', now() + interval '1 hour' FROM agents WHERE id = $1::uuid RETURNING id::text`,
		w.agentID, w.room, label)
}

// seat is a question to let a person into a room of the owner's.
func (w *deskWorld) seat(room, who, reason string) string {
	w.t.Helper()
	return w.exec(`INSERT INTO member_requests (id, organization_id, conversation_id, agent_id, participant_id, reason, approvers, expires_at)
		SELECT gen_random_uuid(), c.organization_id, c.id, a.id, $3::uuid, $4, ARRAY[a.owner_id], now() + interval '1 hour' FROM agents a, conversations c WHERE a.id = $1::uuid AND c.id = $2::uuid RETURNING id::text`,
		w.agentID, room, who, reason)
}

// stop is a day, so many days ago, on which the agent had used up its tokens.
func (w *deskWorld) stop(daysAgo int) string {
	w.t.Helper()
	return w.exec(`INSERT INTO budget_stops (agent_id, day, tokens_per_day, used, expires_at)
		VALUES ($1::uuid, (now() - make_interval(days => $2))::date, 1000, 1200, now() + interval '1 hour' - make_interval(days => $2)) RETURNING id::text`, w.agentID, daysAgo)
}

// TestS1_TheHistoryHoldsEveryKind: whatever waited for a person is read afterwards, with who
// decided, when and what came of it; also when room, secret, limit and agent are gone.
func TestS1_TheHistoryHoldsEveryKind(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	_, guest := person(t, w.s.URL)
	var room struct{ ID string }
	w.call(w.owner, "POST", "/api/conversations", map[string]any{"type": "group", "title": "Harbour", "memberIds": []string{w.agentID}}, 201, &room)
	resolve := func(path string, body map[string]any) {
		t.Helper()
		w.call(w.owner, "POST", "/api/"+path+"/resolve", body, 200, nil)
	}
	type want struct{ source, kind, outcome string }
	var all []want // oldest first

	unheard := w.stop(3) // nobody answered: its day ended
	all = append(all, want{unheard, "budget_stop", "expired"})
	run := w.ask("git push")
	resolve("permission-requests/"+run.ID, map[string]any{"decision": "approve", "scope": "exact", "text": "go on"})
	all = append(all, want{run.ID, "permission_request", "approved"})
	refused := w.ask("rm -rf /")
	resolve("permission-requests/"+refused.ID, map[string]any{"decision": "deny"})
	all = append(all, want{refused.ID, "permission_request", "denied"})
	given, declined := w.secret("Weather"), w.secret("Bank")
	w.call(w.owner, "POST", "/api/credential-requests/"+given+"/fulfill", map[string]any{"value": "sk-planted-Rettich-5"}, 200, nil)
	w.call(w.owner, "DELETE", "/api/credential-requests/"+declined, nil, 200, nil)
	all = append(all, want{given, "credential_request", "fulfilled"}, want{declined, "credential_request", "denied"})
	seat := w.seat(room.ID, guest, "She knows the sails.")
	resolve("member-requests/"+seat, map[string]any{"decision": "deny"})
	all = append(all, want{seat, "member_request", "denied"})
	raised := w.stop(0)
	resolve("budget-stops/"+raised, map[string]any{"decision": "raise", "tokensPerDay": 5000})
	all = append(all, want{raised, "budget_stop", "raised"})

	check := func(page pastPage, gone bool) {
		t.Helper()
		slices.Reverse(page.Decisions)
		if len(page.Decisions) != len(all) || page.Next != nil {
			t.Fatalf("%d entries of %d, next %v", len(page.Decisions), len(all), page.Next)
		}
		for n, d := range page.Decisions {
			if (want{d.SourceID, d.Kind, d.Outcome}) != all[n] || d.Agent != (namedPerson{w.agentID, "Bot"}) || d.ID != d.Kind+":"+d.SourceID || d.EndedAt == "" {
				t.Errorf("entry %d: %+v, want %v", n, d, all[n])
			}
			if by := d.DecidedBy; (d.Outcome == "expired") != (by == nil) || (by != nil && (by.ID != w.ownerID || by.DisplayName == "")) {
				t.Errorf("entry %d was decided by %+v", n, by)
			}
		}
		run, given, seat, raised := page.Decisions[1], page.Decisions[3], page.Decisions[5], page.Decisions[6]
		if run.Request == nil || !strings.Contains(run.Request.Action, "git push") || run.Request.DecisionText != "go on" || run.Grant == nil || (run.Grant.RevokedAt != nil) != gone {
			t.Errorf("what ran: %+v, grant %+v", run.Request, run.Grant)
		}
		if *given.Label != "Weather" || given.Description != "To look for rain" || *given.Endpoint != "https://api.example.com" || *given.Fingerprint == "" || *given.Uses != 0 || given.TakenAway != gone {
			t.Errorf("the secret: %+v", given)
		}
		if *seat.Label == "" || seat.ParticipantType != "human" || seat.Description != "She knows the sails." || *seat.ConversationTitle != "Harbour" || (seat.ConversationID == nil) != gone {
			t.Errorf("the member: %+v", seat)
		}
		if *raised.Used != 1200 || *raised.TokensPerDay != 1000 || *raised.RaisedTo != 5000 {
			t.Errorf("the stop: %+v", raised)
		}
	}
	check(w.past(""), false)
	w.call(w.owner, "DELETE", "/api/conversations/"+room.ID, nil, 200, nil)
	w.call(w.owner, "DELETE", "/api/credential-requests/"+given+"/secret", nil, 204, nil)
	var grants struct{ Grants []struct{ ID string } }
	w.call(w.owner, "GET", "/api/approval-grants", nil, 200, &grants)
	w.call(w.owner, "DELETE", "/api/approval-grants/"+grants.Grants[0].ID, nil, 204, nil)
	w.call(w.owner, "POST", "/api/agents/"+w.agentID+"/delete-permanent", map[string]any{"confirmName": "Bot"}, 200, nil)
	check(w.past(""), true)
	if strings.Contains(w.s.Log.Text(), "sk-planted-Rettich-5") {
		t.Error("the log holds the secret")
	}
	stranger, _ := person(t, w.s.URL)
	var page pastPage
	w.call(stranger, "GET", "/api/me/decisions?state=decided", nil, 200, &page)
	if len(page.Decisions) != 0 {
		t.Errorf("a stranger reads %+v", page.Decisions)
	}
}

// TestS1_ALimitSetElsewhereAnswersTheStop: who raises the limit, or takes it away, on the
// page of the agent is asked no more, and reads in the history what came of it.
func TestS1_ALimitSetElsewhereAnswersTheStop(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		method, outcome string
		to              int64
	}{{"PUT", "raised", 9000}, {"DELETE", "lifted", 0}} {
		w := newDeskWorld(t)
		budget := "/api/agents/" + w.agentID + "/budget"
		w.call(w.owner, "PUT", budget, map[string]any{"tokensPerDay": 1000}, 200, nil)
		w.exec(`INSERT INTO usage_records (agent_id, input_tokens, output_tokens) VALUES ($1::uuid, 1200, 0) RETURNING agent_id::text`, w.agentID)
		stop, me := w.stop(0), w.people()
		w.call(w.owner, "PUT", budget, map[string]any{"tokensPerDay": 1100}, 200, nil) // still less than was used
		var waiting struct{ Decisions []struct{ SourceID string } }
		w.call(w.owner, "GET", "/api/me/decisions", nil, 200, &waiting)
		if len(waiting.Decisions) != 1 || waiting.Decisions[0].SourceID != stop {
			t.Fatalf("waits: %+v", waiting)
		}
		var body any
		want := 204
		if one.to > 0 {
			body, want = map[string]any{"tokensPerDay": one.to}, 200
		}
		w.call(w.owner, one.method, budget, body, want, nil)
		var told struct{ ID, Status string }
		until(me, "budget_stop", &told)
		w.call(w.owner, "GET", "/api/me/decisions", nil, 200, &waiting)
		page := w.past("")
		if told.ID != stop || told.Status != one.outcome || len(waiting.Decisions) != 0 || len(page.Decisions) != 1 || page.Decisions[0].Outcome != one.outcome || page.Decisions[0].DecidedBy.ID != w.ownerID {
			t.Fatalf("told %+v, waits %+v, history %+v", told, waiting, page)
		}
		if to := page.Decisions[0].RaisedTo; (to != nil) != (one.to > 0) || (to != nil && *to != one.to) {
			t.Errorf("raised to %v", to)
		}
	}
}

// TestS1_TheHistoryPagesWithoutLoss: what ended in the same moment, of several kinds, is on
// one page each, whatever ends meanwhile.
func TestS1_TheHistoryPagesWithoutLoss(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	var tid string
	w.call(w.owner, "POST", "/api/conversations/"+w.room+"/tasks", map[string]any{"title": "Paint it", "assignedTo": []string{w.agentID}}, 201, &struct{ ID *string }{&tid})
	if _, err := w.s.DB.Exec(t.Context(), `INSERT INTO asks (id, task_id, agent_id, conversation_id, asked, question, options, status, answer, answered_by, expires_at, ended_at)
		SELECT gen_random_uuid(), $1::uuid, a.id, $2::uuid, ARRAY[a.owner_id], 'Question ' || n, '["red", "blue"]', CASE n WHEN 1 THEN 'withdrawn' WHEN 2 THEN 'expired' ELSE 'answered' END,
			CASE WHEN n > 2 THEN 'blue' END, CASE WHEN n > 2 THEN a.owner_id END, now(), now() - interval '1 hour'
		FROM agents a, generate_series(1, 5) n WHERE a.id = $3::uuid`, tid, w.room, w.agentID); err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		p := w.ask("make " + strings.Repeat("x", n+1))
		w.call(w.owner, "POST", "/api/permission-requests/"+p.ID+"/resolve", map[string]any{"decision": "deny"}, 200, nil)
	}
	if _, err := w.s.DB.Exec(t.Context(), `UPDATE approvals SET decided_at = (SELECT min(ended_at) FROM asks)`); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	query, pages := "", 0
	for {
		page := w.past("&limit=3" + query)
		for _, d := range page.Decisions {
			seen[d.ID]++
			if d.Kind == "ask" && (d.Title != "Paint it" || *d.TaskID != tid || len(d.Options) != 2 || (d.Outcome == "answered") != (d.Answer != nil)) {
				t.Errorf("an ask: %+v", d)
			}
		}
		if pages++; pages == 1 { // ends while somebody reads
			p := w.ask("late")
			w.call(w.owner, "POST", "/api/permission-requests/"+p.ID+"/resolve", map[string]any{"decision": "deny"}, 200, nil)
		}
		if page.Next == nil {
			break
		}
		query = "&before=" + *page.Next
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s was listed %d times", key, n)
		}
	}
	if len(seen) != 8 || pages != 3 {
		t.Errorf("%d entries on %d pages", len(seen), pages)
	}
	for _, bad := range []string{"never", "2026-01-31T12:00:00.000000Z", "AAAA", strings.Repeat("A", 40)} {
		w.call(w.owner, "GET", "/api/me/decisions?state=decided&before="+bad, nil, 422, nil)
	}
	w.call(w.agent, "GET", "/api/me/decisions?state=decided", nil, 403, nil)
}

// TestS1_GrantsAndRulesAreReadByName: who allowed what, where and until when, in words, and who decides.
func TestS1_GrantsAndRulesAreReadByName(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	var room struct{ ID string }
	w.call(w.owner, "POST", "/api/conversations", map[string]any{"type": "group", "title": "Harbour", "memberIds": []string{w.agentID}}, 201, &room)
	long := "echo " + strings.Repeat("é", 5000)
	for _, one := range []struct{ command, scope string }{{"git status", "pattern"}, {"make all", "exact"}, {long, "exact"}, {"ls", "room"}} {
		var p permission
		w.call(w.agent, "POST", "/api/agent/permission-requests", map[string]any{"toolName": "Bash", "toolInput": map[string]any{"command": one.command}, "conversationId": room.ID}, 200, &p)
		w.call(w.owner, "POST", "/api/permission-requests/"+p.ID+"/resolve", map[string]any{"decision": "approve", "scope": one.scope}, 200, nil)
	}
	var list struct {
		Grants []struct {
			AgentName, ToolTitle, Covers, ScopeKind, ExpiresAt string
			Action, ConversationID, ConversationTitle          *string
			ActionCut, RoomGone                                bool
			GrantedBy                                          namedPerson
		}
	}
	read := func() {
		t.Helper()
		list.Grants = nil
		w.call(w.owner, "GET", "/api/approval-grants", nil, 200, &list)
		if len(list.Grants) != 4 {
			t.Fatalf("%+v", list)
		}
		slices.Reverse(list.Grants)
	}
	read()
	for n, want := range []string{"Every command that begins with “git status”", "Exactly one call, to the letter", "Exactly one call, to the letter", "Every call of this tool"} {
		if g := list.Grants[n]; g.Covers != want || g.AgentName != "Bot" || g.ToolTitle != "Run a command" || g.GrantedBy.ID != w.ownerID || g.GrantedBy.DisplayName == "" || g.ExpiresAt == "" {
			t.Errorf("grant %d: %+v", n, g)
		}
	}
	pattern, exact, cut, inRoom := list.Grants[0], list.Grants[1], list.Grants[2], list.Grants[3]
	if pattern.Action != nil || *exact.Action != `{"input":{"command":"make all"},"tool":"Bash"}` || exact.ActionCut || !cut.ActionCut || len([]rune(*cut.Action)) != 4000 {
		t.Errorf("actions: %v, %v, %v", pattern.Action, *exact.Action, cut.ActionCut)
	}
	if *inRoom.ConversationID != room.ID || *inRoom.ConversationTitle != "Harbour" || inRoom.RoomGone || exact.ConversationID != nil {
		t.Errorf("rooms: %+v, %+v", inRoom, exact)
	}
	w.call(w.owner, "DELETE", "/api/conversations/"+room.ID, nil, 200, nil)
	if read(); list.Grants[3].ConversationID != nil || *list.Grants[3].ConversationTitle != "Harbour" || !list.Grants[3].RoomGone {
		t.Errorf("its room is gone: %+v", list.Grants[3])
	}

	var rule struct {
		Rule *struct {
			LeastRisk  string
			DeciderIDs []string
			Deciders   []namedPerson
			SetBy      namedPerson
			UpdatedAt  string
		}
	}
	path := "/api/agents/" + w.agentID + "/approval-rule"
	for _, method := range []string{"PUT", "GET"} {
		rule.Rule = nil
		w.call(w.owner, method, path, map[string]any{"leastRisk": "high", "deciderIds": []string{w.ownerID}}, 200, &rule)
		if r := rule.Rule; r == nil || r.LeastRisk != "high" || len(r.Deciders) != 1 || r.Deciders[0].ID != w.ownerID || r.Deciders[0].DisplayName == "" || r.SetBy != r.Deciders[0] || r.UpdatedAt == "" || len(r.DeciderIDs) != 1 {
			t.Errorf("%s: %+v", method, r)
		}
	}
}

// TestS1_ADeletedAgentAsksNothing: what it wanted is in no list of what waits.
func TestS1_ADeletedAgentAsksNothing(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	_, guest := person(t, w.s.URL)
	var room struct{ ID string }
	w.call(w.owner, "POST", "/api/conversations", map[string]any{"type": "group", "title": "Harbour", "memberIds": []string{w.agentID}}, 201, &room)
	w.secret("Weather")
	w.seat(room.ID, guest, "")
	w.stop(0)
	count := func() (n int) {
		t.Helper()
		var all struct{ Decisions, Requests []struct{} }
		w.call(w.owner, "GET", "/api/me/decisions", nil, 200, &all)
		w.call(w.owner, "GET", "/api/credential-requests", nil, 200, &all)
		return len(all.Decisions) + len(all.Requests)
	}
	if n := count(); n != 4 {
		t.Fatalf("%d entries wait", n)
	}
	w.call(w.owner, "POST", "/api/agents/"+w.agentID+"/delete-permanent", map[string]any{"confirmName": "Bot"}, 200, nil)
	if n := count(); n != 0 {
		t.Errorf("%d entries of a deleted agent wait", n)
	}
}
