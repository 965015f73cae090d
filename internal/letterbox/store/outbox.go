package store

import "errors"

// State is where an outgoing letter is.
type State string

// The states. A letter that its recipient acknowledged has no row any more.
const (
	Queued  State = "queued"   // on disk, not known to be at the relay
	AtRelay State = "at_relay" // uploaded, not acknowledged
	Refused State = "refused"  // its recipient refused it for good
	Dead    State = "dead"     // given up
)

// Outgoing is a letter on its way out.
type Outgoing struct {
	ID      string // of the envelope
	Peer    string
	Kind    string // of the envelope
	GroupID string // empty for none
	MType   int
	Body    string  // ciphertext in base64; empty: to be encrypted again
	Session string  // the session it was encrypted with
	Plain   []byte  // the envelope, sealed on disk
	Created float64 // Unix seconds
	Made    float64 // when Body was encrypted
	Tries   int
	Due     float64 // when it may be uploaded again
	State   State
	Again   bool // was encrypted a second time after a refusal
	Problem string
}

func (t *Tx) outgoing(query string, args ...any) ([]Outgoing, error) {
	list, err := all(t, query, args, func(row func(...any) error) (o Outgoing, err error) {
		return o, row(&o.ID, &o.Peer, &o.Kind, &o.GroupID, &o.MType, &o.Body, &o.Session, &o.Plain, &o.Created, &o.Made, &o.Tries, &o.Due, &o.State, &o.Again, &o.Problem)
	})
	for i := range list {
		if t.seal == nil {
			list[i].Plain = nil // the list of states needs no passphrase
			continue
		}
		var e error
		list[i].Plain, e = t.open("outbox", list[i].ID, list[i].Plain)
		err = errors.Join(err, e)
	}
	return list, err
}

// Outbox is every row, oldest first. Plain is nil while the store is locked.
func (t *Tx) Outbox() ([]Outgoing, error) { return t.outgoing(sqlOutbox) }

// OutboxDue is every row to upload now, or also those whose time has not come.
func (t *Tx) OutboxDue(early bool) ([]Outgoing, error) { return t.outgoing(sqlOutboxDue, t.now, early) }

// OutboxRow is one row; ok is false when there is none.
func (t *Tx) OutboxRow(id string) (o Outgoing, ok bool, err error) {
	list, err := t.outgoing(sqlOutboxRow, id)
	if err != nil || len(list) == 0 {
		return o, false, err
	}
	return list[0], true, nil
}

// AddOutgoing queues a letter. Created, Made, Due and State are set here.
func (t *Tx) AddOutgoing(o Outgoing) error {
	plain, err := t.close("outbox", o.ID, o.Plain)
	if err != nil {
		return err
	}
	return t.exec(sqlAddOutbox, o.ID, o.Peer, o.Kind, o.GroupID, o.MType, o.Body, o.Session, plain, t.now, t.now, t.now)
}

// Reseal replaces the ciphertext of a row; it goes out at once. It is how a refused letter is encrypted once more: first with an
// empty Body, which a crash leaves for the next upload to fill.
func (t *Tx) Reseal(o Outgoing) error {
	return t.exec(sqlUpdateOutbox, o.MType, o.Body, o.Session, t.now, t.now, string(Queued), o.Again, o.Problem, o.ID)
}

// CloseOutgoing ends a row that its recipient refused for good, or that is given up. It stays to be seen.
func (t *Tx) CloseOutgoing(o Outgoing) error {
	return t.exec(sqlUpdateOutbox, o.MType, o.Body, o.Session, o.Made, o.Due, string(o.State), o.Again, o.Problem, o.ID)
}

// TouchOutgoing notes how an upload ended. Nothing changes when the row has gone or carries another ciphertext by now.
func (t *Tx) TouchOutgoing(o Outgoing) error {
	return t.exec(sqlTouchOutbox, o.Tries, o.Due, string(o.State), o.Problem, o.ID, o.Body)
}

// maxDelivered is how many acknowledged letters are remembered, without their text.
const maxDelivered = 1000

// Delivered is a letter that its recipient acknowledged.
type Delivered struct {
	ID, Peer, Kind string
	Created, At    float64 // Unix seconds: written, acknowledged
}

// Acknowledged moves a row of the outbox to the letters that arrived, of which the last thousand are remembered.
func (t *Tx) Acknowledged(id string) error {
	return errors.Join(t.exec(sqlAddDelivered, t.now, id), t.exec(sqlTrimDelivered, maxDelivered), t.exec(sqlDropOutbox, id))
}

// Delivered are the letters that arrived, the oldest first; only one of them when id is not empty.
func (t *Tx) Delivered(id string) ([]Delivered, error) {
	return all(t, sqlDelivered, []any{id, id}, func(row func(...any) error) (d Delivered, err error) {
		return d, row(&d.ID, &d.Peer, &d.Kind, &d.Created, &d.At)
	})
}

// DropOutgoing removes a row and says whether it was there.
func (t *Tx) DropOutgoing(id string) (bool, error) { return t.changed(sqlDropOutbox, id) }

// AllDue makes every living row due, and every owed answer: the relay lost its mail.
func (t *Tx) AllDue() error { return errors.Join(t.exec(sqlAllDue), t.exec(sqlAnswersDue)) }

// RetryFor is how long after it was written a letter may be encrypted again under its id, in seconds. Recipients know a copy by
// the id, and forget it at last (see [Tx.Looked]).
const RetryFor = 60 * 24 * 3600

// ErrTooOld is a letter that may not be encrypted again.
var ErrTooOld = errors.New("the letter is older than 60 days, and its recipient might not know any more that it has it: send its text as a new letter")

// Revive queues a row that was refused or given up, to be encrypted again, and says whether there is such a row.
// Errors: [ErrTooOld].
func (t *Tx) Revive(id string) (bool, error) {
	o, ok, err := t.OutboxRow(id)
	if err != nil || !ok || o.State == Queued || o.State == AtRelay {
		return false, err
	}
	if t.now-o.Created > RetryFor {
		return true, ErrTooOld
	}
	if len(o.Plain) == 0 { // of retalk: there is only the ciphertext
		return true, t.exec(sqlUpdateOutbox, o.MType, o.Body, o.Session, o.Made, t.now, string(Queued), false, "", o.ID)
	}
	return true, t.exec(sqlUpdateOutbox, 0, "", "", t.now, t.now, string(Queued), false, "", o.ID)
}

// Now is the time of this transaction, Unix seconds.
func (t *Tx) Now() float64 { return t.now }
