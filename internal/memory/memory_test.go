package memory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// world is a person with an agent and a room.
func world(t *testing.T, tx *pg.Tx) (owner, agent id.Participant, room id.Conversation) {
	t.Helper()
	owner, agent, room = id.New[id.Participant](), id.New[id.Participant](), id.New[id.Conversation]()
	org := id.New[id.Organization]()
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO participants (id, kind, display_name) VALUES ($1::uuid, 'human', 'Ada'), ($2::uuid, 'agent', 'Nova')`, []any{owner, agent}},
		{`INSERT INTO accounts (id, email) VALUES ($1::uuid, $2::text)`, []any{owner, owner.String() + "@example.com"}},
		{`INSERT INTO organizations (id, name, is_personal, owner_id) VALUES ($1::uuid, 'P', true, $2::uuid)`, []any{org, owner}},
		{`INSERT INTO agents (id, owner_id, organization_id, key_prefix, key_hash) VALUES ($1::uuid, $2::uuid, $3::uuid, $4::text, '\x00'::bytea)`, []any{agent, owner, org, agent.String()}},
		{`INSERT INTO conversations (id, type, created_by, organization_id) VALUES ($1::uuid, 'group', $2::uuid, $3::uuid)`, []any{room, owner, org}},
	} {
		if _, err := tx.Exec(t.Context(), s.sql, s.args...); err != nil {
			t.Fatal(err)
		}
	}
	return owner, agent, room
}

func keys(list []memory.Memory) string {
	var out []string
	for _, m := range list {
		out = append(out, m.Key)
	}
	return strings.Join(out, " ")
}

func save(t *testing.T, tx *pg.Tx, agent id.Participant, w memory.Write, mode memory.Mode) memory.Memory {
	t.Helper()
	if err := w.Clean(); err != nil {
		t.Fatal(err)
	}
	m, err := memory.SaveTx(t.Context(), tx, agent, w, mode)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestK3_SavingReplacesUnderOneKey(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	owner, agent, _ := world(t, tx)
	stranger := id.New[id.Participant]()
	first := save(t, tx, agent, memory.Write{Category: "Preference", Key: " tea ", Content: "Without milk.", Confidence: new(0.9), Tags: &[]string{"Drinks", "drinks"}, Description: new("tea"), CallerID: owner}, memory.Replace)
	if first.Category != "preference" || first.Key != "tea" || !slices.Equal(first.Tags, []string{"drinks"}) {
		t.Fatalf("%+v", first)
	}
	next := save(t, tx, agent, memory.Write{Category: "preference", Key: "tea", Content: "Coffee now.", CallerID: owner}, memory.Replace)
	if next.ID != first.ID || next.Content != "Coffee now." || len(next.Tags) != 1 || *next.Description != "tea" || next.Confidence < 0.89 {
		t.Errorf("what was not named is lost: %+v", next)
	}
	w := memory.Write{Category: "preference", Key: "tea", Content: "Poison.", CallerID: stranger}
	for _, mode := range []memory.Mode{memory.Add, memory.ReplaceOwn} {
		if _, err := memory.SaveTx(t.Context(), tx, agent, w, mode); !fault.Is(err, "memory_exists") {
			t.Errorf("%s over somebody else's: %v", mode, err)
		}
	}
	save(t, tx, agent, memory.Write{Category: "fact", Key: "tea", Content: "Another category.", CallerID: stranger}, memory.ReplaceOwn)
	save(t, tx, agent, memory.Write{Category: "fact", Key: "tea", Content: "Again.", CallerID: stranger}, memory.ReplaceOwn)

	family := memory.Write{Category: "fact", Key: "tea", Content: "Shared.", WriterID: agent}
	for _, replace := range []bool{false, true} {
		if _, err := memory.SaveFamilyTx(t.Context(), tx, owner, id.Organization{}, family, replace); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := memory.SaveFamilyTx(t.Context(), tx, owner, id.Organization{}, family, false); !fault.Is(err, "memory_exists") {
		t.Errorf("a second shared one: %v", err)
	}
}

func TestK3_MemoriesAreBounded(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	owner, agent, _ := world(t, tx)
	if _, err := tx.Exec(t.Context(), `INSERT INTO agent_memories (id, agent_id, category, key, content) SELECT gen_random_uuid(), $1::uuid, 'fact', n::text, 'x' FROM generate_series(1, $2::integer) n`, agent, memory.MaxOfAgent); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO family_memories (id, owner_id, category, key, content) SELECT gen_random_uuid(), $1::uuid, 'fact', n::text, 'x' FROM generate_series(1, $2::integer) n`, owner, memory.MaxOfFamily); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.SaveTx(t.Context(), tx, agent, memory.Write{Category: "fact", Key: "one more", Content: "x"}, memory.Replace); !fault.Is(err, "memory_full") {
		t.Errorf("one more: %v", err)
	}
	if _, err := memory.SaveFamilyTx(t.Context(), tx, owner, id.Organization{}, memory.Write{Category: "fact", Key: "one more", Content: "x"}, true); !fault.Is(err, "memory_full") {
		t.Errorf("one more for all: %v", err)
	}
	if got := save(t, tx, agent, memory.Write{Category: "fact", Key: "7", Content: "new"}, memory.Replace); got.Content != "new" {
		t.Errorf("a full memory cannot be corrected: %+v", got)
	}
	for _, w := range []memory.Write{
		{Category: "fact", Key: "", Content: "x"}, {Category: "fact", Key: "k", Content: " "}, {Category: "", Key: "k", Content: "x"}, {Category: "fact", Key: "k", Content: "a\x00"},
		{Category: "fact", Key: strings.Repeat("k", memory.MaxKey+1), Content: "x"}, {Category: "fact", Key: "k", Content: "x", Confidence: new(1.5)},
		{Category: "fact", Key: "k", Content: "x", Metadata: json.RawMessage(`[]`)}, {Category: "fact", Key: "k", Content: "x", Tags: &[]string{strings.Repeat("t", 51)}},
		{Category: "fact", Key: "k", Content: "x", Description: new(strings.Repeat("d", memory.MaxDescription+1))},
	} {
		if err := w.Clean(); fault.KindOf(err) != fault.Invalid || len(fault.From(err).Fields) == 0 {
			t.Errorf("%.40v: %v", w, err)
		}
	}
}

// Words are found in any inflection and in writing without spaces; a question finds
// what fits best.
func TestK3_MemoriesAreFound(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	owner, agent, room := world(t, tx)
	for _, w := range []memory.Write{
		{Category: "preference", Key: "drink", Content: "Ada drinks coffee in the morning.", Tags: &[]string{"kitchen"}},
		{Category: "fact", Key: "boat", Content: "She sails a boat called 100% Wind.", SourceConversationID: room},
		{Category: "learning", Key: "中文", Content: "她早上喝咖啡，不加牛奶。"},
		{Category: "skill", Key: "deploy_key", Content: "Deployments run at night."},
	} {
		save(t, tx, agent, w, memory.Replace)
		if _, err := memory.SaveFamilyTx(t.Context(), tx, owner, id.Organization{}, w, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		f    memory.Filter
		want string
	}{
		{memory.Filter{}, "deploy_key 中文 boat drink"},
		{memory.Filter{Text: "coffee"}, "drink"},
		{memory.Filter{Text: "drinking mornings"}, "drink"},
		{memory.Filter{Text: "sailed"}, "boat"},
		{memory.Filter{Text: "ailS"}, "boat"},
		{memory.Filter{Text: "100%"}, "boat"},
		{memory.Filter{Text: "咖啡"}, "中文"},
		{memory.Filter{Text: "咖啡 coffee"}, ""},
		{memory.Filter{Text: "deploy_key"}, "deploy_key"},
		{memory.Filter{Text: "kitchen"}, "drink"},
		{memory.Filter{Text: "the"}, "drink"},
		{memory.Filter{Text: "!?"}, ""},
		{memory.Filter{Tag: "Kitchen"}, "drink"},
		{memory.Filter{Category: "skill"}, "deploy_key"},
		{memory.Filter{Text: "where does she drink coffee?", Any: true}, "drink boat"},
		{memory.Filter{Text: "她喝咖啡吗", Any: true}, "中文"},
		{memory.Filter{Text: "xyzzy", Any: true}, ""},
		{memory.Filter{Viewer: id.New[id.Participant](), Room: room}, "boat"},
		{memory.Filter{Viewer: owner}, ""},
		{memory.Filter{Limit: 2, Offset: 1}, "中文 boat"},
	} {
		if tc.f.Limit == 0 {
			tc.f.Limit = 50
		}
		own, err := memory.List(t.Context(), tx, agent, tc.f)
		if err != nil {
			t.Fatal(err)
		}
		shared, err := memory.ListFamily(t.Context(), tx, owner, tc.f)
		if err != nil {
			t.Fatal(err)
		}
		if keys(own) != tc.want || keys(shared) != tc.want {
			t.Errorf("%+v: %q and %q, want %q", tc.f, keys(own), keys(shared), tc.want)
		}
		n, err := memory.Count(t.Context(), tx, agent, tc.f)
		if err != nil || (tc.f.Offset == 0 && n != len(own)) {
			t.Errorf("%+v: %d counted, %d listed, %v", tc.f, n, len(own), err)
		}
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO conversation_members (conversation_id, participant_id, role) VALUES ($1::uuid, $2::uuid, 'member')`, room, owner); err != nil {
		t.Fatal(err)
	}
	if list, err := memory.List(t.Context(), tx, agent, memory.Filter{Viewer: owner, Limit: 9}); err != nil || keys(list) != "boat" {
		t.Errorf("a member hears %q, %v", keys(list), err)
	}
}

func TestK3_RoomMemoryIsMergedAndKept(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	owner, _, room := world(t, tx)
	write := func(w memory.RoomWrite) (string, int, string) {
		t.Helper()
		w.By = owner
		r, diff, err := memory.WriteRoomTx(t.Context(), tx, room, w)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		_, _ = json.Unmarshal(r.Memory, &a), json.Unmarshal(diff, &b)
		mem, _ := json.Marshal(a)
		d, _ := json.Marshal(b)
		return string(mem), r.Version, string(d)
	}
	patch := func(s string) memory.RoomWrite {
		return memory.RoomWrite{Changes: json.RawMessage(s), Reason: "because"}
	}
	for _, tc := range []struct {
		w       memory.RoomWrite
		memory  string
		version int
		diff    string
	}{
		{patch(`{"summary":"a < b","importantContext":{"x":1,"y":2}}`), `{"importantContext":{"x":1,"y":2},"summary":"a \u003c b"}`, 1, `{"importantContext":{"to":{"x":1,"y":2}},"summary":{"to":"a \u003c b"}}`},
		{patch(`{"importantContext":{"x":null,"z":3},"openQuestions":["q"]}`), `{"importantContext":{"y":2,"z":3},"openQuestions":["q"],"summary":"a \u003c b"}`, 2, `{"importantContext":{"from":{"x":1,"y":2},"to":{"y":2,"z":3}},"openQuestions":{"to":["q"]}}`},
		{patch(`{"summary":"a < b"}`), `{"importantContext":{"y":2,"z":3},"openQuestions":["q"],"summary":"a \u003c b"}`, 2, `{}`},
		{patch(`{"summary":null}`), `{"importantContext":{"y":2,"z":3},"openQuestions":["q"]}`, 3, `{"summary":{"from":"a \u003c b"}}`},
		{memory.RoomWrite{Changes: json.RawMessage(`{"n":12345678901234567890}`), Replace: true, Base: new(3)}, `{"n":12345678901234567000}`, 4, ``},
	} {
		mem, version, diff := write(tc.w)
		if mem != tc.memory || version != tc.version || (tc.diff != "" && diff != tc.diff) {
			t.Errorf("%s: %s at %d, %s", tc.w.Changes, mem, version, diff)
		}
	}
	r, err := memory.OfRoom(t.Context(), tx, room)
	if err != nil || string(r.Memory) != `{"n": 12345678901234567890}` || r.UpdatedBy != owner {
		t.Errorf("%s %+v %v", r.Memory, r, err)
	}
	for _, bad := range []memory.RoomWrite{
		{}, patch(`null`), patch(`[1]`), patch(`"x"`), patch(`{`), patch(`{"a":"\u0000"}`), patch(strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)),
		patch(`{"a":"` + strings.Repeat("x", memory.MaxDocument) + `"}`), {Changes: json.RawMessage(`{"a":1}`), Reason: strings.Repeat("r", 501)},
	} {
		if _, _, err := memory.WriteRoomTx(t.Context(), tx, room, bad); fault.KindOf(err) != fault.Invalid || err == nil {
			t.Errorf("%.50s: %v", bad.Changes, err)
		}
	}
	if _, _, err := memory.WriteRoomTx(t.Context(), tx, room, memory.RoomWrite{Changes: json.RawMessage(`{"a":1}`), Base: new(3)}); !fault.Is(err, "version_conflict") {
		t.Errorf("an outdated write: %v", err)
	}
	for n := range 120 {
		write(patch(fmt.Sprintf(`{"n":%d}`, n)))
	}
	list, more, err := memory.RoomHistory(t.Context(), tx, room, 0, 60)
	if err != nil || !more || len(list) != 60 || list[0].Version != 124 || list[0].ChangedByName != "Ada" || list[0].Reason != "because" {
		t.Fatalf("%d %v %v", len(list), more, err)
	}
	rest, more, err := memory.RoomHistory(t.Context(), tx, room, list[59].Version, 60)
	if err != nil || more || len(rest) != 40 || rest[39].Version != 25 {
		t.Errorf("%d older ones, more %v, %v", len(rest), more, err)
	}
}
