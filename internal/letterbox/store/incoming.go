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

// Processed is the envelope id of a ciphertext that was accepted before. One that was remembered without a peer counts for all.
func (t *Tx) Processed(hash, peer string) (id string, ok bool, err error) {
	ok, err = t.one(sqlProcessed, []any{hash, peer}, []any{&id})
	return id, ok, err
}

// ProcessedID says whether an envelope of this peer was accepted before, in whatever ciphertext.
func (t *Tx) ProcessedID(peer, id string) (bool, error) {
	var n int
	return t.one(sqlProcessedID, []any{peer, id}, []any{&n})
}

// AddProcessed remembers an accepted ciphertext; id is empty for one that is never acknowledged.
func (t *Tx) AddProcessed(hash, peer, id string) error {
	return t.exec(sqlAddProcessed, hash, peer, id, t.now)
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
}

// AddAnswer owes an answer; owing it twice is owing it once.
func (t *Tx) AddAnswer(peer, kind, ref string) error { return t.exec(sqlAddAnswer, peer, kind, ref) }

// Answers are all that are owed, oldest first.
func (t *Tx) Answers() ([]Answer, error) {
	return all(t, sqlAnswers, nil, func(row func(...any) error) (a Answer, err error) {
		return a, row(&a.N, &a.Peer, &a.Kind, &a.Ref, &a.Tries)
	})
}

// AnswerFailed counts a try.
func (t *Tx) AnswerFailed(n int64) error { return t.exec(sqlTryAnswer, n) }

// DropAnswer notes that an answer was given.
func (t *Tx) DropAnswer(n int64) error { return t.exec(sqlDropAnswer, n) }

// Unreadable is a letter that could not be opened; its sender was asked for another one.
type Unreadable struct {
	Hash    string
	Peer    string
	At      float64
	Problem string
}

// AddUnreadable remembers one, and drops the oldest beyond a thousand.
func (t *Tx) AddUnreadable(hash, peer, problem string) error {
	if err := t.exec(sqlAddUnreadable, hash, peer, t.now, problem); err != nil {
		return err
	}
	return t.exec(sqlTrimUnreadable, maxUnreadable)
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
