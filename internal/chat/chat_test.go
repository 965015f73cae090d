package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

// room is a person and a room of theirs.
func room(t *testing.T, tx *pg.Tx) (id.Conversation, id.Participant) {
	t.Helper()
	p, org, c := id.New[id.Participant](), id.New[id.Organization](), id.New[id.Conversation]()
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO participants (id, kind, display_name) VALUES ($1::uuid, 'human', 'Ada')`, []any{p}},
		{`INSERT INTO accounts (id, email) VALUES ($1::uuid, $2::text)`, []any{p, p.String()}},
		{`INSERT INTO organizations (id, name, is_personal, owner_id) VALUES ($1::uuid, 'Mine', true, $2::uuid)`, []any{org, p}},
	} {
		if _, err := tx.Exec(t.Context(), s.sql, s.args...); err != nil {
			t.Fatal(err)
		}
	}
	ok, err := chat.CreateTx(t.Context(), tx, chat.NewRoom{ID: c, Type: chat.Group, CreatedBy: p, OrganizationID: org})
	if err != nil || !ok {
		t.Fatalf("create: %v, %v", ok, err)
	}
	if added, err := chat.AddMembersTx(t.Context(), tx, c, chat.Admin, p); err != nil || len(added) != 1 {
		t.Fatalf("add: %v, %v", added, err)
	}
	return c, p
}

func say(t *testing.T, tx *pg.Tx, c id.Conversation, p id.Participant, meta string) (id.Message, chat.Placed) {
	t.Helper()
	m := id.New[id.Message]()
	var b pg.Batch
	var at chat.Placed
	chat.AddInsert(&b, chat.NewMessage{
		ID: m, ConversationID: c, SenderID: p, SenderKind: chat.Human, Content: "x", ContentType: "text", Metadata: json.RawMessage(meta),
	}, &at)
	if err := pg.Run(t.Context(), tx, &b); err != nil {
		t.Fatal(err)
	}
	return m, at
}

// TestM2_TimeStrictlyIncreases inside one transaction, where now() stands still.
func TestM2_TimeStrictlyIncreases(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	c, p := room(t, tx)
	_, last := say(t, tx, c, p, "")
	for n := range 20 {
		_, at := say(t, tx, c, p, "")
		if !at.At.After(last.At) || at.MessageSeq != last.MessageSeq+1 || at.Version != last.Version+1 {
			t.Fatalf("message %d: %+v after %+v", n, at, last)
		}
		last = at
	}
	var read int64
	err := tx.QueryRow(t.Context(), `SELECT last_read_seq FROM conversation_members WHERE conversation_id = $1 AND participant_id = $2`, c, p).Scan(&read)
	if err != nil || read != last.MessageSeq {
		t.Fatalf("the sender's read mark: %d, %v", read, err)
	}
}

func TestP8_PatchMessage(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	c, p := room(t, tx)
	m, at := say(t, tx, c, p, `{"keep": {"a": null}, "drop": 1}`)
	meta, seq, changed, err := chat.PatchMessageTx(t.Context(), tx, c, m, json.RawMessage(`{"drop": null, "new": [1]}`))
	if err != nil || !changed || seq != at.Version+1 || string(meta) != `{"new": [1], "keep": {"a": null}}` {
		t.Fatalf("%s %d %v %v: nested nulls are people's own", meta, seq, changed, err)
	}
	if _, _, changed, err = chat.PatchMessageTx(t.Context(), tx, c, m, json.RawMessage(`{"new": [1], "gone": null}`)); err != nil || changed {
		t.Fatalf("a patch that changes nothing: %v %v", changed, err)
	}
	if _, _, changed, err = chat.PatchMessageTx(t.Context(), tx, c, id.New[id.Message](), json.RawMessage(`{"x":1}`)); err != nil || changed {
		t.Fatalf("absent: %v %v", changed, err)
	}
	list, err := chat.Changes(t.Context(), tx, c, at.Version, 10)
	if err != nil || len(list) != 1 || list[0].Seq != seq || list[0].Event != "message_metadata_changed" || list[0].SubjectID != m.UUID() {
		t.Fatalf("recorded %+v, %v", list, err)
	}
}

func TestP8_ChangesAreDense(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	c, p := room(t, tx)
	m, _ := say(t, tx, c, p, "")
	seq, err := chat.RecordTx(t.Context(), tx, c, "message_metadata_changed", m.UUID(), nil)
	if err != nil || seq != 2 {
		t.Fatalf("seq %d, %v", seq, err)
	}
	if _, err := chat.RecordTx(t.Context(), tx, c, "conversation_title_changed", uuid.Nil, json.RawMessage(`{"title":null}`)); err != nil {
		t.Fatal(err)
	}
	got, err := chat.Changes(t.Context(), tx, c, 1, 10)
	if err != nil || len(got) != 2 || got[0].SubjectID != m.UUID() || got[1].SubjectID != uuid.Nil || got[1].Seq != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := chat.RecordTx(t.Context(), tx, id.New[id.Conversation](), "x", uuid.Nil, nil); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("absent room: %v", err)
	}
	if n, err := chat.PruneChangesTx(t.Context(), tx, 1, 100); err != nil || n != 0 {
		t.Fatalf("pruned %d, %v", n, err)
	}
}

func TestP8_ReadMarkNeverGoesBack(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	c, p := room(t, tx)
	first, _ := say(t, tx, c, p, "")
	second, at := say(t, tx, c, p, "")
	if _, err := tx.Exec(t.Context(), `UPDATE conversation_members SET last_read_seq = 0 WHERE conversation_id = $1`, c); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		upTo id.Message
		all  bool
		mark int64
	}{
		{first, false, at.MessageSeq - 1}, // what came later stays unread
		{second, true, at.MessageSeq},
		{first, false, at.MessageSeq},               // never back
		{id.Message{}, true, at.MessageSeq},         // everything
		{id.New[id.Message](), true, at.MessageSeq}, // not of this room: everything
	} {
		all, err := chat.MarkReadTx(t.Context(), tx, c, p, step.upTo)
		if err != nil || all != step.all {
			t.Fatalf("up to %v: all %v, %v", step.upTo, all, err)
		}
		var mark int64
		if err := tx.QueryRow(t.Context(), `SELECT last_read_seq FROM conversation_members WHERE conversation_id = $1 AND participant_id = $2`, c, p).Scan(&mark); err != nil || mark != step.mark {
			t.Fatalf("mark %d, want %d, %v", mark, step.mark, err)
		}
	}
	if role, err := chat.Role(t.Context(), tx, c, id.New[id.Participant]()); err != nil || role != "" {
		t.Fatalf("a stranger's role %q, %v", role, err)
	}
	if err := chat.DeleteTx(t.Context(), tx, c); err != nil {
		t.Fatal(err)
	}
	if role, err := chat.Role(t.Context(), tx, c, p); err != nil || role != "" {
		t.Fatalf("role in a deleted room %q, %v", role, err)
	}
}

// TestP8_DirectRoomIsUnique: decision 6.
func TestP8_DirectRoomIsUnique(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	_, p := room(t, tx)
	var org id.Organization
	if err := tx.QueryRow(t.Context(), `SELECT id FROM organizations WHERE owner_id = $1::uuid`, p).Scan(&org); err != nil {
		t.Fatal(err)
	}
	key := chat.DirectKey(p, id.New[id.Participant]())
	n := chat.NewRoom{ID: id.New[id.Conversation](), Type: chat.Direct, CreatedBy: p, OrganizationID: org, DirectKey: &key}
	first := n.ID
	for _, want := range []bool{true, false} {
		if made, err := chat.CreateTx(t.Context(), tx, n); err != nil || made != want {
			t.Fatalf("made %v, %v", made, err)
		}
		n.ID = id.New[id.Conversation]()
	}
	if got, err := chat.FindDirect(t.Context(), tx, org, key); err != nil || got != first {
		t.Fatalf("found %v, %v", got, err)
	}
}

func TestP8_ClosedHuddlesInBothSpellings(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]bool{
		`{}`: false, `{"huddle_status":"open"}`: false, `{"huddle_status":"resolved"}`: true, `{"thread_status":"abandoned"}`: true, `{"huddle_status":7}`: false,
	} {
		if got := (chat.Room{Metadata: json.RawMessage(meta)}).Closed(); got != want {
			t.Errorf("%s: %v", meta, got)
		}
	}
}
