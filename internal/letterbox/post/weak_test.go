package post_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// friends are two identities that know each other's keys and have a session both ways.
type friends struct {
	t            *testing.T
	relay        *retalktest.Relay
	alice, bob   *post.Box
	aliceS, bobS *store.Store
}

func newFriends(t *testing.T) *friends {
	t.Helper()
	f := &friends{t: t, relay: retalktest.New(t)}
	f.alice, f.aliceS = box(t, f.relay.URL)
	f.bob, f.bobS = box(t, f.relay.URL)
	for _, b := range []*post.Box{f.alice, f.bob} {
		ok[post.Summary](t)(b.Sync(t.Context(), post.ResendNone))
	}
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "hello", false))
	f.want(f.bob, f.alice, "hello")
	ok[post.Receipt](t)(f.bob.Send(t.Context(), f.alice.Me().Address, "hello yourself", false))
	f.want(f.alice, f.bob, "hello yourself")
	f.want(f.bob, f.alice)
	return f
}

func of(b *post.Box) post.ReceiveOptions { return post.ReceiveOptions{Peers: []string{b.Me().Address}} }

// poll looks for letters without looking after keys.
func (f *friends) poll(to, from *post.Box) (texts []string, done post.Received) {
	f.t.Helper()
	done = ok[post.Received](f.t)(to.Poll(f.t.Context(), of(from), func(l post.Letter) error {
		texts = append(texts, l.Text)
		return nil
	}))
	return texts, done
}

func (f *friends) want(to, from *post.Box, texts ...string) {
	f.t.Helper()
	got, done := f.poll(to, from)
	if strings.Join(got, "|") != strings.Join(texts, "|") || len(done.Unreadable) > 0 {
		f.t.Fatalf("got %q and %+v, want %q", got, done, texts)
	}
}

func (f *friends) later(s *store.Store, d time.Duration) {
	s.Now = func() time.Time { return time.Now().Add(d) }
}

func (f *friends) tx(s *store.Store, fn func(*store.Tx) error) {
	f.t.Helper()
	if err := s.Tx(f.t.Context(), fn); err != nil {
		f.t.Fatal(err)
	}
}

// A mailbox that is full for long does not use up the keys that its owner keeps for letters out of order: the acknowledgement that
// is owed is encrypted once, and a letter that was encrypted before all of them still opens.
func TestL2_OwedAcknowledgementsUseUpNoKeys(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	full := func(on bool) {
		f.relay.Lock(func() { f.relay.MaxMailbox = map[bool]int{true: 1}[on] })
	}
	full(true)
	f.relay.Put(strings.Repeat("f", 32), f.alice.Me().Address, 9, "fills the mailbox")
	if _, err := f.bob.Send(t.Context(), f.alice.Me().Address, "kept here", false); !errors.Is(err, post.ErrKept) {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		full(false)
		ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, text, false))
		full(true)
		f.want(f.bob, f.alice, text)
	}
	for range 60 {
		f.tx(f.bobS, (*store.Tx).AllDue)
		f.want(f.bob, f.alice)
	}
	// The same ciphertext each time: that of the oldest.
	sent := map[string]bool{}
	for _, c := range f.relay.Calls(letter.ToolSendMessage) {
		if body, _ := c.Args["body"].(string); c.From == f.bob.Me().Address {
			sent[body] = true
		}
	}
	if len(sent) > 5 { // two acknowledgements and a letter at the beginning, the letter that is kept, one acknowledgement
		t.Fatalf("%d ciphertexts", len(sent))
	}
	full(false)
	f.tx(f.bobS, (*store.Tx).AllDue)
	f.want(f.bob, f.alice)
	ok[post.Summary](t)(f.bob.Sync(t.Context(), post.ResendAll))
	f.want(f.alice, f.bob, "kept here")
	f.tx(f.aliceS, func(tx *store.Tx) error {
		if rows, err := tx.Outbox(); err != nil || len(rows) > 0 {
			t.Errorf("not acknowledged: %v %v", rows, err)
		}
		return nil
	})
}

// A failed acknowledgement is not tried at every look, and not for ever.
func TestL2_AnswersAreTriedLessOftenAndNotForEver(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "one", false))
	f.relay.Lock(func() {
		f.relay.Before = func(c retalktest.Call) error {
			if c.Tool == letter.ToolSendMessage && c.From == f.bob.Me().Address {
				return errors.New(letter.TextMailboxFull)
			}
			return nil
		}
	})
	tries := func() int {
		n := 0
		for _, c := range f.relay.Calls(letter.ToolSendMessage) {
			if c.From == f.bob.Me().Address {
				n++
			}
		}
		return n
	}
	f.want(f.bob, f.alice, "one")
	before := tries()
	for range 5 {
		f.want(f.bob, f.alice)
	}
	if tries() != before {
		t.Fatalf("tried %d times at once", tries()-before+1)
	}
	f.later(f.bobS, 20*time.Second)
	f.want(f.bob, f.alice)
	if tries() != before+1 {
		t.Fatalf("not tried again: %d, %d", before, tries())
	}
	f.later(f.bobS, 15*24*time.Hour)
	f.want(f.bob, f.alice)
	f.tx(f.bobS, func(tx *store.Tx) error {
		if owed, err := tx.Answers(); err != nil || len(owed) > 0 {
			t.Errorf("still owed: %+v %v", owed, err)
		}
		return nil
	})
}

const day = 24 * time.Hour

// What is remembered of letters is forgotten when no copy can come any more, and not before: not while a copy may lie at the relay,
// and not while the key of a first letter is still held. A copy after that is never shown.
func TestL2_RememberedLettersAreForgotten(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "once", false))
	copied := f.relay.Mail(f.bob.Me().Address)[0]
	f.want(f.bob, f.alice, "once")
	known := func() (yes bool) {
		f.tx(f.bobS, func(tx *store.Tx) (err error) {
			_, yes, err = tx.Processed(letter.BodyHash(copied.Body), f.alice.Me().Address)
			return err
		})
		return yes
	}
	look := func(d time.Duration) {
		f.later(f.bobS, d)
		f.relay.Put(copied.From, copied.To, copied.MType, copied.Body)
		if got, _ := f.poll(f.bob, f.alice); len(got) > 0 {
			t.Fatalf("after %v the letter was shown again", d)
		}
	}
	look(time.Hour)
	look(200 * day) // with the first fallback key, and none before it
	look(201 * day)
	if !known() {
		t.Fatal("forgotten while the key that a first letter may have come with is held")
	}
	for n := range 2 {
		f.later(f.bobS, (210+2*time.Duration(n))*day)
		if s := ok[post.Summary](t)(f.bob.Sync(t.Context(), post.ResendNone)); !s.FallbackRotated {
			t.Fatalf("%+v", s)
		}
	}
	look(220 * day)
	if known() {
		t.Fatal("never forgotten")
	}
	_, done := f.poll(f.bob, f.alice)
	look(221 * day)
	look(222 * day)
	if len(done.Unreadable) > 0 {
		t.Fatalf("%+v", done)
	}
	// A letter of today stays known.
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "today", false))
	copied = f.relay.Mail(f.bob.Me().Address)[0]
	f.want(f.bob, f.alice, "today")
	for n := range 4 {
		look(222*day + time.Duration(2*n+2)*time.Hour)
	}
	if !known() {
		t.Fatal("forgotten at once")
	}
}

// A copy that comes a moment after the first look in a year, as when another process held it, is known: remembering is measured
// from the look before, not from the clock.
func TestL2_RememberedUntilTheMailboxWasSeen(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "once", false))
	copied := f.relay.Mail(f.bob.Me().Address)[0]
	f.want(f.bob, f.alice, "once")
	f.rotate(day, 3*day, 5*day) // so that no old fallback key stands in the way
	f.later(f.bobS, 400*day)
	f.want(f.bob, f.alice)
	f.relay.Put(copied.From, copied.To, copied.MType, copied.Body)
	f.later(f.bobS, 400*day+time.Minute)
	f.want(f.bob, f.alice) // neither shown nor unreadable
}

// rotate changes bob's fallback key at the times given.
func (f *friends) rotate(times ...time.Duration) {
	f.t.Helper()
	for _, d := range times {
		f.later(f.bobS, d)
		if s := ok[post.Summary](f.t)(f.bob.Sync(f.t.Context(), post.ResendNone)); !s.FallbackRotated && d > day {
			f.t.Fatalf("%+v", s)
		}
	}
}

// Letters that are younger than the fallback keys that are still held stay known, however old they are.
func TestL2_RememberedWhileAKeyIsHeld(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	f.rotate(2*day, 4*day)
	f.later(f.bobS, 5*day)
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "once", false))
	copied := f.relay.Mail(f.bob.Me().Address)[0]
	f.want(f.bob, f.alice, "once")
	for _, days := range []int{200, 300, 400} {
		f.later(f.bobS, time.Duration(days)*day)
		f.want(f.bob, f.alice)
	}
	f.relay.Put(copied.From, copied.To, copied.MType, copied.Body)
	f.want(f.bob, f.alice)
	f.rotate(401*day, 403*day)
	f.later(f.bobS, 404*day)
	f.want(f.bob, f.alice)
	f.tx(f.bobS, func(tx *store.Tx) error {
		if _, known, err := tx.Processed(letter.BodyHash(copied.Body), copied.From); known || err != nil {
			t.Errorf("still known: %v", err)
		}
		return nil
	})
}

// A letter that a retalk identity had accepted before it was taken over is known by its id too, in whatever ciphertext it comes again.
func TestL2_ImportedLettersAreKnownByTheirID(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	id := post.NewID()
	f.tx(f.bobS, func(tx *store.Tx) error { return tx.AddProcessed(letter.BodyHash("another ciphertext"), "", id) })
	ok[post.Receipt](t)(f.alice.SendOnce(t.Context(), id, f.bob.Me().Address, "had that", false))
	f.want(f.bob, f.alice)
	f.want(f.alice, f.bob)
	f.tx(f.aliceS, func(tx *store.Tx) error {
		if rows, err := tx.Outbox(); err != nil || len(rows) > 0 {
			t.Errorf("not acknowledged: %v %v", rows, err)
		}
		return nil
	})
}

// A letter that nobody acknowledges ends after a month, where its sender sees it, and may be encrypted again for another month only.
func TestL2_UnacknowledgedLettersEnd(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	sent := ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "anybody there?", false))
	state := func() (o store.Outgoing) {
		f.tx(f.aliceS, func(tx *store.Tx) (err error) {
			o, _, err = tx.OutboxRow(sent.ID)
			return err
		})
		return o
	}
	f.later(f.aliceS, 29*day)
	if s := ok[post.Summary](t)(f.alice.Sync(t.Context(), post.ResendAll)); s.Resent != 1 || state().State != store.AtRelay {
		t.Fatalf("%+v %+v", s, state())
	}
	f.later(f.aliceS, 31*day)
	s := ok[post.Summary](t)(f.alice.Sync(t.Context(), post.ResendAll))
	if len(s.Problems) != 1 || s.Resent != 0 || state().State != store.Dead || !strings.Contains(state().Problem, "30 days") {
		t.Fatalf("%+v %+v", s, state())
	}
	retry := func() (err error) {
		return f.aliceS.Tx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Revive(sent.ID)
			return err
		})
	}
	if err := retry(); err != nil {
		t.Fatal(err)
	}
	if s := ok[post.Summary](t)(f.alice.Sync(t.Context(), post.ResendAll)); s.Resent != 1 || state().State != store.AtRelay {
		t.Fatalf("%+v %+v", s, state())
	}
	// Two copies in two ciphertexts are one letter.
	f.want(f.bob, f.alice, "anybody there?")
	f.later(f.aliceS, 62*day)
	ok[post.Summary](t)(f.alice.Sync(t.Context(), post.ResendAll))
	if err := retry(); !errors.Is(err, store.ErrTooOld) {
		t.Fatal(err)
	}
}

// Letters that are here are handed on before the relay is asked for anything, whether they are open already or not.
func TestL2_OpenedLettersDoNotWaitForTheRelay(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "one", false))
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "two", false))
	full := errors.New("disk full")
	if _, err := f.bob.Poll(t.Context(), of(f.alice), func(post.Letter) error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	down := errors.New("out of order")
	f.relay.Lock(func() { f.relay.Before = func(retalktest.Call) error { return down } })
	var got []string
	_, err := f.bob.Receive(t.Context(), of(f.alice), func(l post.Letter) error { got = append(got, l.Text); return nil })
	if err == nil || !strings.Contains(err.Error(), down.Error()) || strings.Join(got, "|") != "one|two" {
		t.Fatalf("%q %v", got, err)
	}
	f.relay.Lock(func() { f.relay.Before = nil })
	f.want(f.bob, f.alice)
	f.want(f.alice, f.bob) // the acknowledgements
	f.tx(f.aliceS, func(tx *store.Tx) error {
		if rows, err := tx.Outbox(); err != nil || len(rows) > 0 {
			t.Errorf("%v %v", rows, err)
		}
		return nil
	})
}

// A copy of a letter that was refused because the group was left is refused again; it is not found unreadable.
func TestL2_RefusedForALeftGroupIsRefusedAgain(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	f.tx(f.aliceS, func(tx *store.Tx) error {
		return tx.SaveGroup(store.Group{ID: post.NewID(), Name: "team", Members: []string{f.bob.Me().Address}})
	})
	ok[post.GroupReceipt](t)(f.alice.SendGroup(t.Context(), "team", "hi all", false))
	f.want(f.bob, f.alice, "hi all")
	if _, _, err := f.bob.LeaveGroup(t.Context(), "team"); err != nil {
		t.Fatal(err)
	}
	ok[post.GroupReceipt](t)(f.alice.SendGroup(t.Context(), "team", "still there?", false))
	copied := f.relay.Mail(f.bob.Me().Address)[0]
	for n := 1; n <= 3; n++ {
		f.want(f.bob, f.alice)
		if got := len(f.relay.Calls(letter.ToolNack)); got != n {
			t.Fatalf("%d refusals after %d copies", got, n)
		}
		f.relay.Put(copied.From, copied.To, copied.MType, copied.Body)
	}
	f.want(f.bob, f.alice)
	f.tx(f.bobS, func(tx *store.Tx) error {
		if list, err := tx.Unreadable(); err != nil || len(list) > 0 {
			t.Errorf("%v %v", list, err)
		}
		return nil
	})
}

// A request that waited until the key it came with had been changed twice is told once, and stays to be seen.
func TestL2_AStrangersLostRequestIsSeen(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	carol, _ := box(t, f.relay.URL)
	ok[post.Summary](t)(carol.Sync(t.Context(), post.ResendNone))
	f.relay.SpendKeys(f.bob.Me().Address)
	ok[post.Receipt](t)(carol.Request(t.Context(), f.bob.Me().Address, post.NewCode()))
	none := func(l post.Letter) error { t.Errorf("%+v", l); return nil }
	for n := range 2 {
		f.later(f.bobS, 2*time.Duration(n+1)*day)
		if s := ok[post.Summary](t)(f.bob.Sync(t.Context(), post.ResendNone)); !s.FallbackRotated {
			t.Fatalf("%+v", s)
		}
	}
	for n, want := range []int{1, 0, 0} {
		done := ok[post.Received](t)(f.bob.Requests(t.Context(), none))
		if len(done.Skipped) != want {
			t.Fatalf("look %d: %+v", n, done)
		}
		if want > 0 && (done.Skipped[0].Peer != carol.Me().Address || !strings.Contains(done.Skipped[0].Text, "cannot be opened")) {
			t.Fatalf("%+v", done)
		}
	}
	f.tx(f.bobS, func(tx *store.Tx) error {
		if list, err := tx.Unreadable(); err != nil || len(list) != 1 || list[0].Peer != carol.Me().Address {
			t.Errorf("%v %v", list, err)
		}
		return nil
	})
	if n := len(f.relay.Mail(f.bob.Me().Address)); n != 1 {
		t.Fatalf("the stranger's letter was not left alone: %d", n)
	}
}

// 8.1 bug 17: what the relay sees of letters is one of a few sizes, the same for short letters and acknowledgements.
func TestL2_Bug17_LettersAreFilledUp(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	size := func(text string) int {
		t.Helper()
		f.relay.LoseMail()
		ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, text, false))
		return len(f.relay.Mail(f.bob.Me().Address)[0].Body)
	}
	short := size("y")
	if n := size(strings.Repeat("n", 300)); n != short {
		t.Fatalf("%d and %d", short, n)
	}
	f.poll(f.bob, f.alice)
	if acks := f.relay.Mail(f.alice.Me().Address); len(acks) == 0 || len(acks[0].Body) != short {
		t.Fatalf("an acknowledgement can be told from a letter: %d, %d", len(acks[0].Body), short)
	}
	sizes := map[int]bool{}
	for n := 1; n < 600_000; n = n*3/2 + 1 {
		sizes[size(strings.Repeat("x", n))] = true
	}
	if len(sizes) > 17 {
		t.Fatalf("%d sizes", len(sizes))
	}
	if n := size(strings.Repeat("x", 699_000)); n > 1<<20-2048 {
		t.Fatalf("%d characters do not fit a call", n)
	}
	f.tx(f.aliceS, func(tx *store.Tx) error { return tx.SetPadding(f.bob.Me().Address, false) })
	if n := size("y"); n >= short {
		t.Fatalf("still filled up: %d", n)
	}
	f.tx(f.aliceS, func(tx *store.Tx) error { return tx.SetPadding(f.bob.Me().Address, true) })
	f.tx(f.aliceS, func(tx *store.Tx) error { return tx.SetPadding("", false) })
	if n := size("y"); n >= short {
		t.Fatalf("still filled up: %d", n)
	}
}

// A store of the first layout gets what it lacks when it is opened; what it owes is owed.
func TestL2_StoresOfTheFirstLayout(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "one", false))
	refuse := errors.New(letter.TextMailboxFull)
	f.relay.Lock(func() {
		f.relay.Before = func(c retalktest.Call) error {
			if c.Tool == letter.ToolSendMessage {
				return refuse
			}
			return nil
		}
	})
	f.want(f.bob, f.alice, "one")
	f.relay.Lock(func() { f.relay.Before = nil })
	dir := f.bobS.Dir()
	if err := f.bobS.Close(); err != nil {
		t.Fatal(err)
	}
	db := ok[*sql.DB](t)(sql.Open("sqlite", filepath.Join(dir, store.FileName)))
	for _, q := range []string{
		`DROP TABLE reads`, `DROP TABLE delivered`, `DROP TABLE unpadded`, `DROP INDEX processed_ages`, `ALTER TABLE processed DROP COLUMN refused`,
		`ALTER TABLE answers DROP COLUMN mtype`, `ALTER TABLE answers DROP COLUMN body`, `ALTER TABLE answers DROP COLUMN sid`,
		`ALTER TABLE answers DROP COLUMN since`, `ALTER TABLE answers DROP COLUMN due`, `UPDATE meta SET v = CAST('1' AS BLOB) WHERE k = 'layout'`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // opened twice: the second time nothing is left to do
		s := ok[*store.Store](t)(store.Open(t.Context(), dir))
		if err := s.Unlock(t.Context(), store.Passphrase{}); err != nil {
			t.Fatal(err)
		}
		b := ok[*post.Box](t)(post.Open(t.Context(), post.Config{Store: s, Book: store.OpenBook(t.TempDir()), Relay: f.relay.URL, Log: quiet}))
		f.want(b, f.alice)
		b.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f.want(f.alice, f.bob)
	f.tx(f.aliceS, func(tx *store.Tx) error {
		if rows, err := tx.Outbox(); err != nil || len(rows) > 0 {
			t.Errorf("%v %v", rows, err)
		}
		return nil
	})
}

// A relay that answers for one sender with letters of others, which nobody chose, brings none of them here.
func TestL2_OnlyLettersThatWereAskedForAreKept(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	eve, _ := box(t, f.relay.URL)
	ok[post.Summary](t)(eve.Sync(t.Context(), post.ResendNone))
	ok[post.Receipt](t)(eve.Send(t.Context(), f.bob.Me().Address, "not asked for", false))
	stray := f.relay.Mail(f.bob.Me().Address)[0]
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "asked for", false))
	f.relay.Lock(func() {
		f.relay.After = func(c retalktest.Call, _ http.ResponseWriter, answer *[]byte) bool {
			if c.Tool == letter.ToolReadMessages {
				var list []letter.Message
				if err := json.Unmarshal(*answer, &list); err != nil {
					t.Error(err)
				}
				list = append(list, letter.Message{MessageID: stray.ID, TS: stray.TS, From: stray.From, MType: int64(stray.MType), Body: stray.Body})
				*answer, _ = json.Marshal(list)
			}
			return true
		}
	})
	f.want(f.bob, f.alice, "asked for")
	f.relay.Lock(func() { f.relay.After = nil })
	f.tx(f.bobS, func(tx *store.Tx) error {
		if in, ok, err := tx.NextIncoming(0, ""); err != nil || ok {
			t.Errorf("a letter of %s waits here, %v", in.Peer, err)
		}
		return nil
	})
}

// A program that was given letters and does not take them is said, instead of being waited for without a word; the letters are there
// when it has ended.
func TestL2_WhoHoldsLettersIsSaid(t *testing.T) {
	t.Parallel()
	f := newFriends(t)
	release := ok[func()](t)(f.bobS.Lock(t.Context(), store.Delivery))
	ok[post.Receipt](t)(f.alice.Send(t.Context(), f.bob.Me().Address, "in the meantime", false))
	f.bob.Patience(time.Millisecond)
	if _, err := f.bob.Poll(t.Context(), of(f.alice), func(post.Letter) error { return errors.New("a letter?") }); !errors.Is(err, post.ErrHeld) {
		t.Fatal(err)
	}
	release()
	f.want(f.bob, f.alice, "in the meantime")
}
