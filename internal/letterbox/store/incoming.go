package store

// maxUnreadable is how many letters that could not be opened are remembered.
const maxUnreadable = 1000

// Incoming is a ciphertext that was taken from the relay and not looked at yet.
type Incoming struct {
	N     int64
	Hash  string // of Body
	Peer  string // whom the relay names as its sender
	MType int
	Body  string
	At    float64 // when the relay got it, Unix seconds
}

// AddIncoming keeps a ciphertext before the relay forgets it.
func (t *Tx) AddIncoming(in Incoming) error {
	return t.exec(sqlAddWaiting, in.Hash, in.Peer, in.MType, in.Body, in.At)
}

// NextIncoming is the first ciphertext after n, of one peer or of all when peer is empty.
func (t *Tx) NextIncoming(n int64, peer string) (in Incoming, ok bool, err error) {
	ok, err = t.one(sqlWaiting, []any{n, peer, peer}, []any{&in.N, &in.Hash, &in.Peer, &in.MType, &in.Body, &in.At})
	return in, ok, err
}

// IncomingFrom are the senders of what waits.
func (t *Tx) IncomingFrom() ([]string, error) {
	return all(t, sqlWaitingFrom, nil, func(row func(...any) error) (peer string, err error) { return peer, row(&peer) })
}

// DropIncoming forgets a ciphertext that was dealt with.
func (t *Tx) DropIncoming(n int64) error { return t.exec(sqlDropWaiting, n) }

// Done is what is remembered of a ciphertext that was dealt with.
type Done struct {
	ID      string // of the envelope; empty for one that is never acknowledged
	Refused bool
}

// Processed says what became of a ciphertext. One that was remembered without a peer counts for all.
func (t *Tx) Processed(hash, peer string) (d Done, ok bool, err error) {
	ok, err = t.one(sqlProcessed, []any{hash, peer}, []any{&d.ID, &d.Refused})
	return d, ok, err
}

// ProcessedID says whether an envelope of this peer was accepted before, in whatever ciphertext.
func (t *Tx) ProcessedID(peer, id string) (bool, error) {
	var n int
	return t.one(sqlProcessedID, []any{peer, id}, []any{&n})
}

// AddProcessed remembers an accepted ciphertext; id is empty for one that is never acknowledged.
func (t *Tx) AddProcessed(hash, peer, id string) error {
	return t.exec(sqlAddProcessed, hash, peer, id, t.now, false)
}

// AddRefused remembers a ciphertext that was opened and refused, so that a copy of it is refused again and not found unreadable.
func (t *Tx) AddRefused(hash, peer string) error {
	return t.exec(sqlAddProcessed, hash, peer, "", t.now, true)
}

// Forgetting (see [Tx.Looked]).
const (
	forgetAfter = 120 * 24 * 3600 // seconds; more than [RetryFor] and the time such a letter is uploaded again
	lookEvery   = 3600            // seconds between two notes of a look; longer than any lease of a relay
)

// Looked notes that everything a peer had left at the relay is in the store and was dealt with, or what everybody had when peer is
// empty, and forgets ciphertexts of which no copy can come any more:
//   - The same ciphertext cannot be opened twice, since the key of each message is used up; the one exception is a first letter
//     on a fallback key, which is why nothing is forgotten that is as young as the keys that are still held.
//   - An envelope in another ciphertext comes only from a client that encrypts again, which ours does for RetryFor at most and
//     uploads for a month then (the clock of a sender may be off by some weeks). After that a copy can only lie at the relay, and
//     the look that was noted before this one took it away.
func (t *Tx) Looked(peer string) error {
	var last float64
	found, err := t.one(sqlRead, []any{peer}, []any{&last})
	if err != nil || found && t.now >= last && t.now-last < lookEvery {
		return err
	}
	if err := t.exec(sqlSetRead, peer, t.now); err != nil || !found {
		return err
	}
	before, err := t.seconds(metaBefore)
	if err != nil || before == 0 {
		return err // the first fallback key is still in use
	}
	until := min(last-forgetAfter, before)
	if peer == "" {
		return t.exec(sqlForgetAll, until)
	}
	return t.exec(sqlForgetPeer, peer, until)
}

// Arrived is an opened letter that was not handed on yet. Letter is sealed on disk; its form is the caller's.
type Arrived struct {
	N      int64
	Peer   string
	ID     string
	Letter []byte
}

// AddArrived keeps an opened letter.
func (t *Tx) AddArrived(peer, id string, letter []byte) error {
	sealed, err := t.close("arrived", peer+"/"+id, letter)
	if err != nil {
		return err
	}
	return t.exec(sqlAddArrived, peer, id, sealed)
}

// NextArrived is the first letter after n, of one peer or of all when peer is empty.
func (t *Tx) NextArrived(n int64, peer string) (a Arrived, ok bool, err error) {
	ok, err = t.one(sqlArrived, []any{n, peer, peer}, []any{&a.N, &a.Peer, &a.ID, &a.Letter})
	if err != nil || !ok {
		return a, ok, err
	}
	a.Letter, err = t.open("arrived", a.Peer+"/"+a.ID, a.Letter)
	return a, true, err
}

// IsArrived says whether a letter still waits to be handed on.
func (t *Tx) IsArrived(peer, id string) (bool, error) {
	var n int
	return t.one(sqlIsArrived, []any{peer, id}, []any{&n})
}

// DropArrived forgets a letter that was handed on.
func (t *Tx) DropArrived(n int64) error { return t.exec(sqlDropArrived, n) }

// The kinds of answer.
const (
	Ack  = "ack"
	Nack = "nack"
)

// Answer is owed to a peer: an acknowledgement of an envelope id, or the refusal of a ciphertext's hash.
type Answer struct {
	N     int64
	Peer  string
	Kind  string
	Ref   string
	Tries int

	MType   int
	Body    string  // ciphertext of an acknowledgement that was encrypted already; empty when it was not
	Session string  // it was encrypted with
	Since   float64 // when it began to be owed, Unix seconds
	Due     float64 // when it may be tried again
}

// AddAnswer owes an answer; owing it twice is owing it once.
func (t *Tx) AddAnswer(peer, kind, ref string) error {
	return t.exec(sqlAddAnswer, peer, kind, ref, t.now)
}

func scanAnswer(row func(...any) error) (a Answer, err error) {
	return a, row(&a.N, &a.Peer, &a.Kind, &a.Ref, &a.Tries, &a.MType, &a.Body, &a.Session, &a.Since, &a.Due)
}

// Answers are all that are owed, oldest first.
func (t *Tx) Answers() ([]Answer, error) { return all(t, sqlAnswers, nil, scanAnswer) }

// Answer is one of them; ok is false when it was given meanwhile.
func (t *Tx) Answer(n int64) (a Answer, ok bool, err error) {
	list, err := all(t, sqlAnswerRow, []any{n}, scanAnswer)
	if err != nil || len(list) == 0 {
		return a, false, err
	}
	return list[0], true, nil
}

// SealAnswer keeps the ciphertext of an acknowledgement, which is uploaded until the relay takes it: encrypting anew for each try
// would use up the keys that the recipient keeps for letters that come out of order.
func (t *Tx) SealAnswer(a Answer) error {
	return t.exec(sqlSealAnswer, a.MType, a.Body, a.Session, a.N)
}

// AnswerFailed counts a try; the next is due at a time, Unix seconds.
func (t *Tx) AnswerFailed(n int64, due float64) error { return t.exec(sqlTryAnswer, due, n) }

// DropAnswer notes that an answer was given.
func (t *Tx) DropAnswer(n int64) error { return t.exec(sqlDropAnswer, n) }

// Unreadable is a letter that could not be opened; its sender was asked for another one.
type Unreadable struct {
	Hash    string
	Peer    string
	At      float64
	Problem string
}

// AddUnreadable remembers one, drops the oldest beyond a thousand, and says whether it is new.
func (t *Tx) AddUnreadable(hash, peer, problem string) (added bool, err error) {
	if added, err = t.changed(sqlAddUnreadable, hash, peer, t.now, problem); err != nil {
		return added, err
	}
	return added, t.exec(sqlTrimUnreadable, maxUnreadable)
}

// Unreadable are those remembered, oldest first.
func (t *Tx) Unreadable() ([]Unreadable, error) {
	return all(t, sqlUnreadable, nil, func(row func(...any) error) (u Unreadable, err error) {
		return u, row(&u.Hash, &u.Peer, &u.At, &u.Problem)
	})
}

// DropUnreadable forgets one, named by its hash or the first half of it, and says whether it was there.
func (t *Tx) DropUnreadable(hash string) (bool, error) {
	return t.changed(sqlDropUnreadable, hash, hash)
}

// Saved is a letter of the history.
type Saved struct {
	N         int64
	ID        string
	From      string
	FromName  string // as it was known at the time
	Peer      string // the other side; for an outgoing group letter the group's id
	Outgoing  bool
	Text      string
	At        float64 // Unix seconds
	GroupID   string
	GroupName string
}

func direction(out bool) string {
	if out {
		return "out"
	}
	return "in"
}

// SaveHistory keeps a letter; a second one with the same id changes nothing. At 0 stands for now.
func (t *Tx) SaveHistory(s Saved) error {
	body, err := t.close("history", s.ID, []byte(s.Text))
	if err != nil {
		return err
	}
	if s.At == 0 {
		s.At = t.now
	}
	return t.exec(sqlAddHistory, s.ID, s.From, s.FromName, s.Peer, direction(s.Outgoing), body, s.At, s.GroupID, s.GroupName)
}

// History is up to limit letters after number n, oldest first; those between the owner and one peer, those of one group, or all
// when of is empty.
func (t *Tx) History(n int64, of string, limit int) ([]Saved, error) {
	return all(t, sqlHistory, []any{n, of, of, of, limit}, func(row func(...any) error) (s Saved, err error) {
		var way string
		var body []byte
		if err := row(&s.N, &s.ID, &s.From, &s.FromName, &s.Peer, &way, &body, &s.At, &s.GroupID, &s.GroupName); err != nil {
			return s, err
		}
		text, err := t.open("history", s.ID, body)
		s.Text, s.Outgoing = string(text), way == direction(true)
		return s, err
	})
}

// Conversation is one peer or group of the history.
type Conversation struct {
	With      string // address or group id
	GroupName string // empty for a peer
	Count     int
	Last      float64 // Unix seconds
}

// Conversations are those of the history, the latest first.
func (t *Tx) Conversations() ([]Conversation, error) {
	return all(t, sqlConversations, nil, func(row func(...any) error) (c Conversation, err error) {
		var gid string
		err = row(&c.With, &gid, &c.GroupName, &c.Count, &c.Last)
		if gid != "" && c.GroupName == "" {
			c.GroupName = gid
		}
		return c, err
	})
}
