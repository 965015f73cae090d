package app_test

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

type storedMessage struct {
	ID, Room, Sender, Kind, Content string
	Seq                             int64
	Type                            *string
	At                              time.Time
}

type storedTurn struct {
	Room, Message, Outcome string
	MergedInto, Answer     *string
	ErrorCode              *string
	Attempt                int
	Executor               *string
}

// verify reads the database and the history that people see.
func (k *killWorld) verify(messages int) {
	k.t.Helper()
	rows, _ := k.p.DB.Query(k.t.Context(), `SELECT id::text, conversation_id::text AS room, coalesce(sender_id::text, '') AS sender, sender_kind AS kind, content,
		seq, message_type AS type, inserted_at AS at FROM messages ORDER BY conversation_id, seq`)
	stored, err := pgx.CollectRows(rows, pgx.RowToStructByName[storedMessage])
	if err != nil {
		k.t.Fatal(err)
	}
	rows, _ = k.p.DB.Query(k.t.Context(), `SELECT t.conversation_id::text AS room, message_id::text AS message, outcome, merged_into::text, answer_id::text AS answer,
		error_code, attempt, e.executor_key AS executor FROM turns t LEFT JOIN executors e ON e.id = t.executor_id`)
	turns, err := pgx.CollectRows(rows, pgx.RowToStructByName[storedTurn])
	if err != nil {
		k.t.Fatal(err)
	}
	k.nothingLost(messages, stored)
	k.answeredOnce(stored, turns)
	k.peopleSee(stored)
	if gaps := k.count(`SELECT count(*) FROM conversations c WHERE c.version <> (SELECT count(*) FROM conversation_changes h WHERE h.conversation_id = c.id)
		OR c.message_seq <> (SELECT count(*) FROM messages m WHERE m.conversation_id = c.id)`); gaps != 0 {
		k.t.Errorf("%d rooms have a gap in their seq", gaps)
	}
	for _, v := range append(k.led.Violations(), k.eyes.Violations()...) {
		// While something is dead, calls fail; that is not what is judged here.
		if away := strings.Contains(v.Detail, "answered 503") || strings.Contains(v.Detail, "answered 0") || strings.Contains(v.Detail, "no reply within") ||
			strings.Contains(v.Detail, "socket ended") || strings.Contains(v.Detail, "unavailable"); !away {
			k.t.Errorf("contract violation %s", v)
		}
	}
}

// nothingLost: every message that was taken is stored once, in the order of its
// writer; seq is dense and time strictly increasing.
func (k *killWorld) nothingLost(messages int, stored []storedMessage) {
	k.t.Helper()
	if len(k.sent) != messages {
		k.t.Errorf("%d of %d messages were taken", len(k.sent), messages)
	}
	seen := map[string]bool{}
	last := map[string]storedMessage{}
	notes := map[string]int{} // room and writer → notes so far
	people := 0
	for _, m := range stored {
		if p := last[m.Room]; m.Seq != p.Seq+1 || !m.At.After(p.At) {
			k.t.Errorf("seq %d at %s follows seq %d at %s", m.Seq, m.At, p.Seq, p.At)
		}
		last[m.Room] = m
		if m.Kind != "human" {
			continue
		}
		people++
		if k.sent[m.ID] != m.Content {
			k.t.Errorf("message %s is stored as %q, its writer knows it as %q", m.ID, m.Content, k.sent[m.ID])
		}
		if seen[m.Content] {
			k.t.Errorf("%q is stored twice", m.Content)
		}
		seen[m.Content] = true
		_, note, _ := strings.Cut(m.Content, ", note ")
		if want := notes[m.Room+m.Sender]; !strings.HasPrefix(note, itoa(want)+" ") {
			k.t.Errorf("%q is stored at place %d of its writer", m.Content, want)
		}
		notes[m.Room+m.Sender]++
	}
	if people != len(k.sent) {
		k.t.Errorf("%d messages were taken, %d are stored", len(k.sent), people)
	}
}

// answeredOnce: every message is covered by exactly one reply, its own or that of
// the message it was merged into, and every reply covers a message. The one
// exception is the contract's own: a stock bridge never posts again (bridge 3.1),
// so a reply that it could not post, and whose message it then acknowledged, is
// shown as not answered (decision 15) and never answered twice.
func (k *killWorld) answeredOnce(stored []storedMessage, turns []storedTurn) {
	k.t.Helper()
	byID := map[string]storedMessage{}
	for _, m := range stored {
		byID[m.ID] = m
	}
	ofMessage := map[string]storedTurn{}
	repliesOf := map[string]int{} // answer → turns of which it is the own reply
	outcomes := map[string]int{}
	for _, t := range turns {
		ofMessage[t.Message] = t
		outcomes[t.Outcome]++
		if t.Outcome == "answered" && t.Answer != nil {
			repliesOf[*t.Answer]++
		}
	}
	gaveUp := map[string]bool{}
	for _, b := range append(k.dead, k.stock[:]...) {
		for _, r := range b.Turns() {
			if r.Outcome == "refused" || r.Outcome == "duplicate" {
				gaveUp[r.MessageID] = true
			}
		}
	}
	excused := 0
	for message := range k.sent {
		at := message
		t, ok := ofMessage[at]
		for hops := 0; ok && t.Outcome == "merged" && hops < 100; hops++ {
			if t.MergedInto == nil {
				k.t.Errorf("message %s was merged into nothing", at)
				break
			}
			at = *t.MergedInto
			t, ok = ofMessage[at]
		}
		switch {
		case !ok:
			k.t.Errorf("message %s (by way of %s) has no turn", message, at)
		case t.Outcome == "unanswered" && gaveUp[at]:
			excused++
		case t.Outcome != "answered" || t.Answer == nil:
			k.t.Errorf("message %s (by way of %s) ended as %s %v after %d attempts, executor %v", message, at, t.Outcome, deref(t.ErrorCode), t.Attempt, deref(t.Executor))
		case byID[*t.Answer].Sender != k.agent || byID[*t.Answer].Room != t.Room || byID[*t.Answer].Seq <= byID[at].Seq:
			k.t.Errorf("message %s is answered by %+v", at, byID[*t.Answer])
		}
	}
	for _, m := range stored {
		if m.Sender == k.agent && repliesOf[m.ID] != 1 {
			k.t.Errorf("reply %q is the own reply of %d turns", clipped(m.Content), repliesOf[m.ID])
			for _, t := range turns {
				if t.Answer != nil && *t.Answer == m.ID {
					k.t.Logf("turn of message %s (%q): %s, attempt %d, executor %v", t.Message, clipped(byID[t.Message].Content), t.Outcome, t.Attempt, deref(t.Executor))
				}
			}
		}
		if _, about, ok := strings.Cut(m.Content, "re #"); ok && m.Sender == k.agent {
			if t := ofMessage[about]; t.Answer == nil || *t.Answer != m.ID {
				k.t.Errorf("a second reply to %s: its turn has the answer %s", about, deref(t.Answer))
			}
		}
	}
	k.t.Logf("outcomes %v; %d messages without a reply because a stock bridge could not post it", outcomes, excused)
	if excused > len(k.sent)/20 {
		k.t.Errorf("%d messages are not answered", excused)
	}
}

// peopleSee: both people page through the same history that is stored.
func (k *killWorld) peopleSee(stored []storedMessage) {
	k.t.Helper()
	want := map[string][]string{}
	for _, m := range stored {
		if m.Type == nil || *m.Type != "EndTurn" {
			want[m.Room] = append(want[m.Room], m.ID)
		}
	}
	for n, d := range k.people {
		for _, room := range k.rooms {
			k.must("page through the history", func(ctx context.Context) error {
				if d.Open() != room {
					if err := d.OpenConversation(ctx, room); err != nil {
						return err
					}
				}
				for {
					if more, err := d.Older(ctx, room); err != nil || !more {
						return err
					}
				}
			})
			var got []string
			for _, m := range d.Timeline(room) {
				id, _ := m["id"].(string)
				got = append(got, id)
			}
			if strings.Join(got, " ") != strings.Join(want[room], " ") {
				k.t.Errorf("desktop %d sees %d messages of a room, %d are stored, or in another order", n, len(got), len(want[room]))
			}
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

func clipped(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
